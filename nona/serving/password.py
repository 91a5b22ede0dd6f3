"""The password of a server that others reach: hashed in a file, never kept itself."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from nona.errors import NonaError
from nona.foreign.whole_files import write_whole

FILE = "password.json"
SHORTEST = 10  # characters
LONGEST = 1000
DAYS = 7  # after which one must log in again
_N, _R, _P = 2**15, 8, 1  # 32 MiB and about 0.1 s for each guess
_MOST_MEMORY = 64 * 2**20


class PasswordError(NonaError):
    """A password, or its file, that cannot be taken."""


@dataclass(frozen=True, slots=True)
class Hashed:
    """A password's hash by scrypt (Percival, 2009; RFC 7914), and the key that signs logins.

    ``salt``, ``digest`` and ``key`` are hexadecimal; ``n``, ``r`` and ``p`` are scrypt's cost, block size
    and parallelism.

    >>> hashed = hash_password("correct horse battery")
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
        """Whether it is the password of this hash; takes about 0.1 s."""
        found = _scrypt(password, bytes.fromhex(self.salt), self.n, self.r, self.p)
        return hmac.compare_digest(found.hex(), self.digest)

    def ticket(self, now: float | None = None) -> str:
        """What a browser keeps after a login: when it ends, and a signature."""
        ends = str(int((time.time() if now is None else now) + DAYS * 86400))
        return f"{ends}.{self._signature(ends)}"

    def admits(self, ticket: str, now: float | None = None) -> bool:
        """Whether the ticket was made here and has not ended."""
        ends, _, signature = ticket.partition(".")
        if not (ends.isascii() and ends.isdecimal() and len(ends) <= 15 and signature.isascii()):
            return False
        good = hmac.compare_digest(signature, self._signature(ends))
        return good and int(ends) > (time.time() if now is None else now)

    def _signature(self, text: str) -> str:
        return hmac.new(bytes.fromhex(self.key), text.encode(), hashlib.sha256).hexdigest()


def hash_password(password: str) -> Hashed:
    """The hash of a password under a fresh salt.

    Raises
    ------
    PasswordError
        When it is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise PasswordError(
            f"Password: {len(password)} characters, but it must have {SHORTEST} to {LONGEST}; choose another."
        )
    salt = secrets.token_bytes(16)
    digest = _scrypt(password, salt, _N, _R, _P)
    return Hashed(_N, _R, _P, salt.hex(), digest.hex(), secrets.token_hex(32))


def write_password(path: Path, password: str) -> None:
    """Write the hash into a file that its owner alone reads; raises :class:`PasswordError` or ``OSError``."""
    write_whole(path, json.dumps(asdict(hash_password(password))).encode())


def read_password(path: Path) -> Hashed:
    """The hash in a file.

    Raises
    ------
    PasswordError
        When there is none, when it is damaged, or when others can read it.
    """
    try:
        mode = path.stat().st_mode
        data = json.loads(path.read_text(encoding="utf-8"))
        hashed = Hashed(**data)
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
