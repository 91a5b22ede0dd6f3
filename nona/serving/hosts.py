"""Which ``Host`` and ``Origin`` a request may have.

A page elsewhere can make a browser send requests here: under a name of its own that it lets point to this
machine (DNS rebinding), or from its own origin. Names that the server does not go by, and origins other
than its own, are therefore refused before anything else happens.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::", "")


def host_name(host: str) -> str | None:
    """The name in a ``Host`` header, without its port; ``None`` if it is none.

    >>> host_name("LocalHost.:8501"), host_name("[::1]:8501"), host_name("a/b"), host_name("u@localhost")
    ('localhost', '::1', None, None)
    """
    if not host or any(c in host for c in "/?#@\\ \t"):
        return None
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises unless a number in range
        return (parts.hostname or "").lower().rstrip(".") or None
    except ValueError:
        return None


def is_address(name: str) -> bool:
    """Whether a name is an IP address.

    >>> is_address("192.168.0.7"), is_address("example.com")
    (True, False)
    """
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches the address that a server listens on.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0"), is_loopback("10.0.0.1")
    (True, True, False, False)
    """
    if address == "localhost" or address.startswith("unix://"):
        return True
    return is_address(address) and ip_address(address).is_loopback


def host_allowed(host: str, allowed: Iterable[str], listening: str) -> bool:
    """Whether a request may carry that ``Host``.

    Allowed are the names of this machine for itself, the address that the server listens on, and
    ``allowed`` (``*.example.com`` covers its sub-domains). A server on all addresses is reached by any of
    them; a name cannot be an address, so rebinding gains nothing by that.

    >>> host_allowed("localhost:8501", (), "127.0.0.1"), host_allowed("evil.example", (), "127.0.0.1")
    (True, False)
    >>> host_allowed("a.example.com", ("*.example.com",), "127.0.0.1")
    True
    >>> host_allowed("192.168.0.7:8501", (), "0.0.0.0"), host_allowed("evil.example", (), "0.0.0.0")
    (True, False)
    """
    name = host_name(host)
    if name is None:
        return False
    if name in LOOPBACK or name == listening.lower():
        return True
    if listening in WILDCARDS and is_address(name):
        return True
    return any(_matches(name, pattern.strip().lower().rstrip(".")) for pattern in allowed)


def origin_allowed(origin: str | None, host: str, allowed: Iterable[str] = ()) -> bool:
    """Whether a request from a page of that ``Origin`` may be answered: from the same host and port only.

    Programs that are no browser send none.

    >>> origin_allowed("http://localhost:8501", "localhost:8501"), origin_allowed(None, "localhost:8501")
    (True, True)
    >>> origin_allowed("http://localhost:9999", "localhost:8501"), origin_allowed("null", "localhost:8501")
    (False, False)
    """
    if origin is None:
        return True
    if origin in set(allowed):
        return True
    scheme, _, rest = origin.partition("://")
    default = {"http": ":80", "https": ":443"}.get(scheme)
    return default is not None and rest.lower().removesuffix(default) == host.lower().removesuffix(default)


def _matches(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else bool(pattern) and name == pattern
