"""The cookie that leads a browser to its workspace, and reading cookies of a request."""

from __future__ import annotations

import re
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TypeGuard

from streamlit import config

KEPT_S = 30 * 86400
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def cookie_name(kind: str = "workspace") -> str:
    """The cookie's name: a browser sends cookies to every port of a host, so it names the port."""
    return f"nona_{kind}_{config.get_option('server.port')}"


def new_token() -> str:
    """A name for a workspace that nobody can guess: 256 random bits."""
    return secrets.token_urlsafe(32)


def is_token(text: object) -> TypeGuard[str]:
    """Return whether the text has the form of a token.

    >>> is_token(new_token()), is_token("../../etc/passwd"), is_token(None)
    (True, False, False)
    """
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def read_cookie(header: str, name: str) -> str | None:
    """The value of a cookie in the header ``Cookie``.

    >>> read_cookie("a=1; b=two", "b"), read_cookie("a=1", "b"), read_cookie("=;;", "b")
    ('two', None, None)
    """
    for part in header.split(";"):
        key, equals, value = part.strip().partition("=")
        if equals and key == name:
            return value.strip('"')
    return None


def set_cookie(name: str, value: str, seconds: int, secure: bool) -> str:
    """The header ``Set-Cookie``: out of reach for scripts, and not sent from other sites' pages.

    Raises ``ValueError`` when a cookie cannot hold the value.

    >>> set_cookie("a", "1", 60, secure=False)
    'a=1; HttpOnly; Max-Age=60; Path=/; SameSite=lax'
    """
    jar: SimpleCookie = SimpleCookie()
    try:
        jar[name] = value
    except CookieError as error:
        raise ValueError(f"Cookie {name!r}: cannot hold this value; {error}.") from error
    cookie = jar[name]
    cookie["path"], cookie["max-age"], cookie["httponly"], cookie["samesite"] = "/", str(seconds), True, "lax"
    if secure:
        cookie["secure"] = True
    return cookie.OutputString()
