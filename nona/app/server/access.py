"""Admission of visitors: allowed hosts and origins, and the password, hashed in a file.

A page elsewhere can make a browser send requests here: under a name of its own that it lets point to this
machine (DNS rebinding), or from its own origin. Names that are not the server's, and origins other
than its own, are therefore refused before anything else happens.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from nona.core.errors import NonaError
from nona.core.foreign import write_whole

LOOPBACK = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::", "")


def host_name(host: str) -> str | None:
    """Return the name in a ``Host`` header, without its port; ``None`` if it is none.

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
    """Return whether a name is an IP address.

    >>> is_address("192.168.0.7"), is_address("example.com")
    (True, False)
    """
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches the address that a server listens on.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0"), is_loopback("10.0.0.1")
    (True, True, False, False)
    """
    if address == "localhost" or address.startswith("unix://"):
        return True
    return is_address(address) and ip_address(address).is_loopback


def host_allowed(host: str, allowed: Iterable[str], listening: str) -> bool:
    """Return whether a request may carry that ``Host``.

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
    """Return whether a request with that ``Origin`` may be answered: from the same host and port, or allowed.

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


FILE = "password.json"
SHORTEST = 10  # characters
LONGEST = 1000
DAYS = 7  # after which one must log in again
_N, _R, _P = 2**15, 8, 1  # 32 MiB and about 0.1 s for each guess
_MOST_MEMORY = 64 * 2**20


class PasswordError(NonaError):
    """A password, or its file, that cannot be taken."""


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """A password's hash by scrypt (Percival, 2009; RFC 7914), and the key that signs logins.

    ``salt``, ``digest`` and ``key`` are hexadecimal; ``n``, ``r`` and ``p`` are scrypt's cost, block size
    and parallelism.

    >>> hashed = _hash_password("correct horse battery")
    >>> hashed.fits("correct horse battery"), hashed.fits("Correct horse battery")
    (True, False)
    >>> hashed.admits(hashed.ticket(now=0.0), now=10.0), hashed.admits(hashed.ticket(now=0.0), now=1e9)
    (True, False)
    """

    n: int
    r: int
    p: int
    salt: str
    digest: str
    key: str

    def fits(self, password: str) -> bool:
        """Return whether it is the password of this hash; takes about 0.1 s."""
        digest = _scrypt(password, bytes.fromhex(self.salt), self.n, self.r, self.p)
        return hmac.compare_digest(digest.hex(), self.digest)

    def ticket(self, now: float | None = None) -> str:
        """Return the text that a browser keeps after a login: the time of expiry, and a signature."""
        ends = str(int((time.time() if now is None else now) + DAYS * 86400))
        return f"{ends}.{self._signature(ends)}"

    def admits(self, ticket: str, now: float | None = None) -> bool:
        """Return whether the ticket was made here and has not expired."""
        ends, _, signature = ticket.partition(".")
        if not (ends.isascii() and ends.isdecimal() and len(ends) <= 15 and signature.isascii()):
            return False
        good = hmac.compare_digest(signature, self._signature(ends))
        return good and int(ends) > (time.time() if now is None else now)

    def _signature(self, text: str) -> str:
        return hmac.new(bytes.fromhex(self.key), text.encode(), hashlib.sha256).hexdigest()


def _hash_password(password: str) -> HashedPassword:
    if not SHORTEST <= len(password) <= LONGEST:
        raise PasswordError(
            f"Password: {len(password)} characters, but it must have {SHORTEST} to {LONGEST}; choose another."
        )
    salt = secrets.token_bytes(16)
    digest = _scrypt(password, salt, _N, _R, _P)
    return HashedPassword(_N, _R, _P, salt.hex(), digest.hex(), secrets.token_hex(32))


def write_password(path: Path, password: str) -> None:
    """Write the hash into a file that its owner alone reads; raises :class:`PasswordError` or ``OSError``."""
    write_whole(path, json.dumps(asdict(_hash_password(password))).encode())


def read_password(path: Path) -> HashedPassword:
    """Return the hash in a file.

    Raises ``PasswordError`` when there is none, when it is damaged, or when others can read it.
    """
    try:
        mode = path.stat().st_mode
        data = json.loads(path.read_text(encoding="utf-8"))
        hashed = HashedPassword(**data)
        sizes = [len(bytes.fromhex(t)) for t in (hashed.salt, hashed.digest, hashed.key)]
    except FileNotFoundError:
        raise PasswordError(f"File {path}: is missing; set it with `nona app --set-password`.") from None
    except (OSError, ValueError, TypeError) as error:
        raise PasswordError(
            f"File {path}: holds no password's hash ({type(error).__name__}); set it again with "
            "`nona app --set-password`."
        ) from error
    if (hashed.n, hashed.r, hashed.p) != (_N, _R, _P) or min(sizes) < 16:
        raise PasswordError(f"File {path}: has other parameters; set the password again.")
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise PasswordError(f"File {path}: others than its owner can read it; run `chmod 600 {path}`.")
    return hashed


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    given = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(given, salt=salt, n=n, r=r, p=p, maxmem=_MOST_MEMORY, dklen=32)
