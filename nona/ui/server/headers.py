"""The headers of every answer: what a page may load, who may frame it, what it tells others."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

import streamlit

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
    found = {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in rules.items()),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }
    return tuple((name.encode(), value.encode()) for name, value in found.items())


def _inline_scripts() -> str:
    """The hashes of the scripts that stand in the front end's own page."""
    page = Path(streamlit.__file__).parent / "static" / "index.html"
    found = _INLINE.findall(page.read_text(encoding="utf-8"))
    return " ".join(f"'sha256-{_hash(text)}'" for text in found)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
