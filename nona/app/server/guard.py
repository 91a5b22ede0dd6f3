"""The guard before the app: foreign hosts and origins refused, the login, the cookie.

It runs as ASGI middleware before anything of Streamlit, for pages, files and WebSockets alike.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import streamlit
from streamlit import config

from nona.app.server import access
from nona.app.server.browser import KEPT_S, cookie_name, is_token, new_token, read_cookie, set_cookie
from nona.app.server.settings import Serving

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@cache
def security_headers() -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers as ASGI has them.

    Scripts come from this server, or from a component as a ``blob:`` that it made; text of users
    is never run. Styles are set inline by the front end. Nothing is fetched from or sent to
    another host, and no other page may frame this one.
    """
    rules = {
        "default-src": "'self'",
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {_inline_scripts()}".strip(),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "media-src": "'self' data: blob:",
        "connect-src": "'self' data: blob:",
        "worker-src": "'self' blob:",
        "frame-src": "'self'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    headers = {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in rules.items()),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }
    return tuple((name.encode(), value.encode()) for name, value in headers.items())


def _inline_scripts() -> str:
    """Return the hashes of the scripts that stand in the front end's own page."""
    page = Path(streamlit.__file__).parent / "static" / "index.html"
    scripts = _INLINE.findall(page.read_text(encoding="utf-8"))
    return " ".join(f"'sha256-{_hash(text)}'" for text in scripts)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
_MOST_FORM_BYTES = 4096


@dataclass(frozen=True, slots=True)
class RequestScope:
    """The parts of an ASGI scope that decide whether it is answered."""

    socket: bool
    method: str
    path: str
    headers: Mapping[str, str]
    peer: str
    scheme: str
    query: str = ""

    @classmethod
    def from_scope(cls, scope: Scope) -> RequestScope:
        """From a scope of HTTP or of a WebSocket."""
        headers: dict[str, str] = {}
        for key, value in scope.get("headers", ()):
            name = key.decode("latin-1").lower()
            text = value.decode("latin-1")
            headers[name] = f"{headers[name]}; {text}" if name == "cookie" and name in headers else text
        client = scope.get("client")
        return cls(
            scope["type"] == "websocket",
            scope.get("method", "GET"),
            scope.get("path", "/"),
            headers,
            client[0] if client else "",
            scope.get("scheme", "http"),
            scope.get("query_string", b"").decode("latin-1"),
        )

    @property
    def document(self) -> bool:
        """True where a browser asks for a page to show."""
        return self.method == "GET" and "text/html" in self.headers.get("accept", "")

    def cookie(self, name: str) -> str | None:
        """Return the value of a cookie; ``None`` where the request has none."""
        return read_cookie(self.headers.get("cookie", ""), name)

    def visitor(self, serving: Serving) -> str:
        """Return the visitor's address, which a trusted proxy forwards."""
        forwarded = self.headers.get("x-forwarded-for", "") if self.peer in serving.proxies else ""
        return forwarded.rpartition(",")[2].strip()[:64] or self.peer

    def secure(self, serving: Serving) -> bool:
        """Return whether the browser speaks TLS, with this server or with a proxy before it."""
        proxied_tls = self.peer in serving.proxies and self.headers.get("x-forwarded-proto") == "https"
        return proxied_tls or self.scheme in ("https", "wss")


async def answer(
    send: Send,
    request: RequestScope,
    status: int,
    text: str,
    kind: str = "text/plain",
    more: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Answer without asking the app; a WebSocket is refused, which gives status 403."""
    if request.socket:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    body = text.encode()
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *more,
        *security_headers(),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def form_text(receive: Receive) -> str | None:
    """Return the body of a small form; ``None`` when it is larger than a form of ours."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _MOST_FORM_BYTES or message["type"] == "http.disconnect":
            return None
        if not message.get("more_body", False):
            return str(body, "latin-1")


PATH = "/nona/login"
GUESSES, WITHIN_S = 5, 60.0  # wrong passwords from one address
WAITING = 8  # guesses that may wait for their turn: each takes 0.1 s and 32 MiB
MOST_PEERS = 10_000
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Log in · Nona Planner</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 sans-serif;max-width:22rem;margin:15vh auto;padding:0 1rem;color:#14172b}}
label,input,button{{display:block;width:100%;box-sizing:border-box;margin:.5rem 0;font:inherit}}
input,button{{padding:.5rem}}button{{background:#4f46e5;color:#fff;border:0;border-radius:.4rem}}</style>
<h1>Nona Planner</h1><p role="status">{message}</p><form method="post" action="{path}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" autofocus required>
<button>Log in</button></form></html>"""


def _page(message: str, request: RequestScope) -> str:
    return _PAGE.format(message=message, path=f"{PATH}?to={quote(_wanted(request), safe='')}")


def _wanted(request: RequestScope) -> str:
    """Return the page that a visitor wants, as a path on this server: never an address elsewhere."""
    if request.path == PATH:
        path = parse_qs(request.query).get("to", ["/"])[0]
    else:
        path = quote(request.path) + (f"?{request.query}" if request.query else "")
    plain = path.isascii() and path.isprintable() and not set(path) & set("\\ ")
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"


@dataclass
class PasswordGuesses:
    """Wrong passwords by address.

    >>> guesses = PasswordGuesses()
    >>> for _ in range(GUESSES):
    ...     guesses.wrong("10.0.0.9", now=1.0)
    >>> guesses.may("10.0.0.9", now=2.0), guesses.may("10.0.0.8", now=2.0), guesses.may("10.0.0.9", now=99.0)
    (False, True, True)
    """

    _wrong: dict[str, list[float]] = field(default_factory=dict)

    def may(self, peer: str, now: float) -> bool:
        """Return whether that address may try again."""
        return len([t for t in self._wrong.get(peer, ()) if now - t < WITHIN_S]) < GUESSES

    def wrong(self, peer: str, now: float) -> None:
        """Count a wrong password from ``peer`` at the time ``now`` (s)."""
        kept = [t for t in self._wrong.pop(peer, ()) if now - t < WITHIN_S]
        self._wrong[peer] = [*kept, now][-GUESSES:]
        while len(self._wrong) > MOST_PEERS:
            del self._wrong[next(iter(self._wrong))]


@dataclass
class Login:
    """Admission of visitors: with the password's ticket, or named by a proxy."""

    serving: Serving
    guesses: PasswordGuesses = field(default_factory=PasswordGuesses)
    _hashing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _waiting: int = 0

    def admits(self, request: RequestScope) -> bool:
        """Return whether a request is from a user who has logged in, or whom a proxy names."""
        header = self.serving.user_header.lower()
        if header and request.peer in self.serving.proxies and request.headers.get(header, "").strip():
            return True
        hashed, ticket = self._hashed(), request.cookie(cookie_name("login"))
        return hashed is not None and ticket is not None and hashed.admits(ticket)

    async def respond(self, request: RequestScope, receive: Receive, send: Send) -> None:
        """Answer a visitor who has not logged in: take a password, show the page, or refuse."""
        if self.serving.password_file is None:
            return await answer(send, request, 401, "Log in at the proxy first.\n")
        if request.path == PATH and request.method == "POST":
            return await self._take_password(request, receive, send)
        if request.document:
            return await self._show(request, send, 401, "This server asks for its password.")
        return await answer(send, request, 401, "Log in first.\n")

    async def _take_password(self, request: RequestScope, receive: Receive, send: Send) -> None:
        visitor = request.visitor(self.serving)
        if not self.guesses.may(visitor, time.monotonic()) or self._waiting >= WAITING:
            return await self._show(request, send, 429, "Too many attempts. Wait a minute, then try again.")
        form = await form_text(receive)
        given = parse_qs(form or "").get("password", [""])[0]
        hashed = self._hashed()
        if hashed is None or not await self._fits(hashed, given):
            self.guesses.wrong(visitor, time.monotonic())
            return await self._show(request, send, 401, "That is not the password.")
        cookie = set_cookie(
            cookie_name("login"), hashed.ticket(), access.DAYS * 86400, request.secure(self.serving)
        )
        more = [(b"location", _wanted(request).encode()), (b"set-cookie", cookie.encode())]
        return await answer(send, request, 303, "", more=more)

    async def _fits(self, hashed: access.HashedPassword, given: str) -> bool:
        self._waiting += 1
        try:
            async with self._hashing:
                return await asyncio.to_thread(hashed.fits, given)
        finally:
            self._waiting -= 1

    async def _show(self, request: RequestScope, send: Send, status: int, message: str) -> None:
        await answer(send, request, status, _page(message, request), "text/html")

    def _hashed(self) -> access.HashedPassword | None:
        """Read each time, so that a changed password ends all logins; ``None`` if unreadable."""
        path: Path | None = self.serving.password_file
        try:
            return None if path is None else access.read_password(path)
        except access.PasswordError:
            return None


HEALTH = "/_stcore/health"
TABS = 12  # WebSockets of one browser
CONNECTIONS = 200  # WebSockets in all


class Guard:
    """ASGI middleware.

    ``app``: the application behind the guard. ``serving``: the server's settings.
    """

    def __init__(self, app: Application, serving: Serving) -> None:
        self._app, self._serving, self._login = app, serving, Login(serving)
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the app answer."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        request = RequestScope.from_scope(scope)
        refused = _refusal(request, self._serving)
        if refused:
            return await answer(send, request, 403, refused + "\n")
        if self._serving.guarded and request.path != HEALTH and not self._login.admits(request):
            return await self._login.respond(request, receive, send)
        if request.socket:
            return await self._connect(request, scope, receive, send)
        fresh = request.document
        token = request.cookie(cookie_name()) if fresh else None
        cookie = self._cookie(request, token if is_token(token) else new_token()) if fresh else None
        return await self._app(scope, receive, _adding(send, cookie))

    async def _connect(self, request: RequestScope, scope: Scope, receive: Receive, send: Send) -> None:
        token, cookie = request.cookie(cookie_name()), None
        if token is None or not is_token(token):  # no page was asked for before: it gets its cookie here
            token = new_token()
            cookie = self._cookie(request, token)
            given = (b"cookie", f"{cookie_name()}={token}".encode())
            scope = {**scope, "headers": [*_without_cookie(scope), given]}
        if self._open[token] >= TABS or self._open.total() >= CONNECTIONS:
            return await answer(send, request, 403, "")
        self._open[token] += 1
        try:
            await self._app(scope, receive, _adding(send, cookie))
        finally:
            self._open[token] -= 1
            self._open += Counter()  # forget those at zero

    def _cookie(self, request: RequestScope, token: str | None) -> bytes:
        secure = request.secure(self._serving)
        return set_cookie(cookie_name(), token or new_token(), KEPT_S, secure).encode()


def _refusal(request: RequestScope, serving: Serving) -> str:
    host, listening = request.headers.get("host", ""), config.get_option("server.address") or ""
    named = (*serving.hosts, *config.get_option("server.allowedHosts"))
    if not access.host_allowed(host, named, listening):
        return (
            f"Host {host[:100]!r}: this server has no such name; use localhost, or start it with "
            "`nona app --allow-name NAME`."
        )
    origin = request.headers.get("origin")
    if not access.origin_allowed(origin, host, config.get_option("server.corsAllowedOrigins")):
        return f"Origin {(origin or '')[:100]!r}: only this server's own pages may ask it; open it directly."
    if not serving.guarded and (listening in access.WILDCARDS or not access.is_loopback(listening)):
        return "This server has no password, so it answers only localhost; start it with `nona app --host`."
    return ""


def _adding(send: Send, cookie: bytes | None) -> Send:
    own = security_headers()
    names = {name for name, _ in own}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(k, v) for k, v in message.get("headers", ()) if k.lower() not in names]
            message = {**message, "headers": [*kept, *own]}
        if cookie and message["type"] in ("http.response.start", "websocket.accept"):
            message = {**message, "headers": [*message.get("headers", ()), (b"set-cookie", cookie)]}
        await send(message)

    return sending


def _without_cookie(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the headers of a scope without the lines of cookies that hold ours."""
    own = cookie_name().encode() + b"="
    return [(k, v) for k, v in scope["headers"] if k.lower() != b"cookie" or own not in v]
