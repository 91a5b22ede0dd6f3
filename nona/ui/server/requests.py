"""Requests as the guard looks at them, its own answers, the headers of every answer."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit

from nona.serving.settings import Serving
from nona.ui.session.cookie import read_cookie

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@cache
def security_headers() -> tuple[tuple[bytes, bytes], ...]:
    """The headers as ASGI has them.

    Scripts come from this server, or from a component as a ``blob:`` that it made; text that somebody wrote
    into the page is never run. Styles are set inline by the front end. Nothing is fetched from or sent to
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
    """The hashes of the scripts that stand in the front end's own page."""
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
MOST_FORM_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of an ASGI scope that decide whether it is answered."""

    socket: bool
    method: str
    path: str
    headers: Mapping[str, str]
    peer: str
    scheme: str
    query: str = ""

    @classmethod
    def of(cls, scope: Scope) -> Request:
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
        """The value of a cookie."""
        return read_cookie(self.headers.get("cookie", ""), name)

    def visitor(self, serving: Serving) -> str:
        """The address of whoever asks, which a proxy hands on."""
        forwarded = self.headers.get("x-forwarded-for", "") if self.peer in serving.proxies else ""
        return forwarded.rpartition(",")[2].strip()[:64] or self.peer

    def secure(self, serving: Serving) -> bool:
        """Return whether the browser speaks TLS, with this server or with a proxy before it."""
        proxied_tls = self.peer in serving.proxies and self.headers.get("x-forwarded-proto") == "https"
        return proxied_tls or self.scheme in ("https", "wss")


async def answer(
    send: Send,
    request: Request,
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
    """The body of a small form; ``None`` when it is larger than a form of ours."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_FORM_BYTES or message["type"] == "http.disconnect":
            return None
        if not message.get("more_body", False):
            return str(body, "latin-1")
