"""The login of a server that others reach: a page with one field, a ticket in a cookie, few guesses."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote

from nona.serving.password import DAYS, Hashed, PasswordError, read_password
from nona.serving.settings import Serving
from nona.ui.server.request import Receive, Request, Send, answer, form_text
from nona.ui.session.cookie import cookie_name, set_cookie

PATH = "/nona/login"
GUESSES, WITHIN_S = 5, 60.0  # wrong passwords from one address
WAITING = 8  # guesses that may wait for their turn: each takes 0.1 s and 32 MiB
MOST_PEERS = 10_000
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Log in · Nona Planner</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 sans-serif;max-width:22rem;margin:15vh auto;padding:0 1rem;color:#14172b}}
label,input,button{{display:block;width:100%;box-sizing:border-box;margin:.5rem 0;font:inherit}}
input,button{{padding:.5rem}}button{{background:#4f46e5;color:#fff;border:0;border-radius:.4rem}}</style>
<h1>Nona Planner</h1><p role="status">{told}</p><form method="post" action="{path}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" autofocus required>
<button>Log in</button></form></html>"""


def _page(told: str, request: Request) -> str:
    """The page with the field; its form leads back to the address that was asked for."""
    return _PAGE.format(told=told, path=f"{PATH}?to={quote(_wanted(request), safe='')}")


def _wanted(request: Request) -> str:
    """The page that a visitor wants, as a path on this server: never an address elsewhere."""
    if request.path == PATH:
        path = parse_qs(request.query).get("to", ["/"])[0]
    else:
        path = quote(request.path) + (f"?{request.query}" if request.query else "")
    plain = path.isascii() and path.isprintable() and not set(path) & set("\\ ")
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"


@dataclass
class Guesses:
    """Wrong passwords by address.

    >>> guesses = Guesses()
    >>> for _ in range(GUESSES):
    ...     guesses.wrong("10.0.0.9", now=1.0)
    >>> guesses.may("10.0.0.9", now=2.0), guesses.may("10.0.0.8", now=2.0), guesses.may("10.0.0.9", now=99.0)
    (False, True, True)
    """

    _wrong: dict[str, list[float]] = field(default_factory=dict)

    def may(self, peer: str, now: float) -> bool:
        """Whether that address may try again."""
        return len([t for t in self._wrong.get(peer, ()) if now - t < WITHIN_S]) < GUESSES

    def wrong(self, peer: str, now: float) -> None:
        """Note a wrong password."""
        kept = [t for t in self._wrong.pop(peer, ()) if now - t < WITHIN_S]
        self._wrong[peer] = [*kept, now][-GUESSES:]
        while len(self._wrong) > MOST_PEERS:
            del self._wrong[next(iter(self._wrong))]


@dataclass
class Login:
    """Who may come in: with the password's ticket, or named by a proxy."""

    serving: Serving
    guesses: Guesses = field(default_factory=Guesses)
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _waiting: int = 0

    def admits(self, request: Request) -> bool:
        """Whether a request comes from somebody who has said who he is."""
        header = self.serving.user_header.lower()
        if header and request.peer in self.serving.proxies and request.headers.get(header, "").strip():
            return True
        hashed, ticket = self._hashed(), request.cookie(cookie_name("login"))
        return hashed is not None and ticket is not None and hashed.admits(ticket)

    async def ask(self, request: Request, receive: Receive, send: Send) -> None:
        """Answer somebody who has not: take a password, show the page, or refuse."""
        if self.serving.password_file is None:
            return await answer(send, request, 401, "Log in at the proxy first.\n")
        if request.path == PATH and request.method == "POST":
            return await self._take(request, receive, send)
        if request.document:
            return await self._show(request, send, 401, "This server asks for its password.")
        return await answer(send, request, 401, "Log in first.\n")

    async def _take(self, request: Request, receive: Receive, send: Send) -> None:
        visitor = request.visitor(self.serving)
        if not self.guesses.may(visitor, time.monotonic()) or self._waiting >= WAITING:
            return await self._show(request, send, 429, "Too many attempts. Wait a minute, then try again.")
        form = await form_text(receive)
        given = parse_qs(form or "").get("password", [""])[0]
        hashed = self._hashed()
        if hashed is None or not await self._fits(hashed, given):
            self.guesses.wrong(visitor, time.monotonic())
            return await self._show(request, send, 401, "That is not the password.")
        cookie = set_cookie(cookie_name("login"), hashed.ticket(), DAYS * 86400, request.secure(self.serving))
        more = [(b"location", _wanted(request).encode()), (b"set-cookie", cookie.encode())]
        return await answer(send, request, 303, "", more=more)

    async def _fits(self, hashed: Hashed, given: str) -> bool:
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(hashed.fits, given)
        finally:
            self._waiting -= 1

    async def _show(self, request: Request, send: Send, status: int, told: str) -> None:
        await answer(send, request, status, _page(told, request), "text/html")

    def _hashed(self) -> Hashed | None:
        """Read each time, so that a changed password ends all logins; ``None`` if unreadable."""
        path: Path | None = self.serving.password_file
        try:
            return None if path is None else read_password(path)
        except PasswordError:
            return None
