"""The guard before the app: refuses foreign hosts, origins and visitors; gives a browser its cookie.

It runs as ASGI middleware before anything of Streamlit, for pages, files and WebSockets alike.
"""

from __future__ import annotations

from collections import Counter

from streamlit import config

from nona.serving.hosts import WILDCARDS, host_allowed, is_loopback, origin_allowed
from nona.serving.settings import Serving
from nona.ui.server.headers import security_headers
from nona.ui.server.login import Login
from nona.ui.server.request import Application, Message, Receive, Request, Scope, Send, answer
from nona.ui.session.cookie import KEPT_S, cookie_name, is_token, new_token, set_cookie

HEALTH = "/_stcore/health"
TABS = 12  # WebSockets of one browser
CONNECTIONS = 200  # WebSockets in all


class Guard:
    """ASGI middleware.

    Parameters
    ----------
    app
        What it stands before.
    serving
        How the server answers.
    """

    def __init__(self, app: Application, serving: Serving) -> None:
        self._app, self._serving, self._login = app, serving, Login(serving)
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the app answer."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        request = Request.of(scope)
        refused = refusal(request, self._serving)
        if refused:
            return await answer(send, request, 403, refused + "\n")
        if self._serving.guarded and request.path != HEALTH and not self._login.admits(request):
            return await self._login.ask(request, receive, send)
        if request.socket:
            return await self._connect(request, scope, receive, send)
        fresh = request.document
        token = request.cookie(cookie_name()) if fresh else None
        cookie = self._cookie(request, token if is_token(token) else new_token()) if fresh else None
        return await self._app(scope, receive, _adding(send, cookie))

    async def _connect(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
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

    def _cookie(self, request: Request, token: str | None) -> bytes:
        secure = request.secure(self._serving)
        return set_cookie(cookie_name(), token or new_token(), KEPT_S, secure).encode()


def refusal(request: Request, serving: Serving) -> str:
    """Why a request is refused whoever sends it; empty if it is not."""
    host, listening = request.headers.get("host", ""), config.get_option("server.address") or ""
    named = (*serving.hosts, *config.get_option("server.allowedHosts"))
    if not host_allowed(host, named, listening):
        return (
            f"Host {host[:100]!r}: this server does not go by that name; use localhost, or start it with "
            "`nona app --allow-name NAME`."
        )
    origin = request.headers.get("origin")
    if not origin_allowed(origin, host, config.get_option("server.corsAllowedOrigins")):
        return f"Origin {(origin or '')[:100]!r}: only this server's own pages may ask it; open it directly."
    if not serving.guarded and (listening in WILDCARDS or not is_loopback(listening)):
        return "This server has no password, so it answers only localhost; start it with `nona app --host`."
    return ""


def _adding(send: Send, cookie: bytes | None) -> Send:
    """``send``, with the security headers and a cookie on every answer that begins."""
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
    """The headers of a scope; a cookie of ours that is no token is left out with the others of its line."""
    own = cookie_name().encode() + b"="
    return [(k, v) for k, v in scope["headers"] if k.lower() != b"cookie" or own not in v]
