"""Settings of a server, handed to its process as environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DATA, PERSIST, HOSTS, PASSWORD, HEADER, PROXIES = (
    "NONA_DATA_DIR",
    "NONA_PERSIST",
    "NONA_ALLOWED_HOSTS",
    "NONA_PASSWORD_FILE",
    "NONA_USER_HEADER",
    "NONA_PROXIES",
)
LOOPBACK_PEERS = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Serving:
    """How one server answers.

    Parameters
    ----------
    data
        Folder in which workspaces are kept.
    persist
        Whether workspaces are kept on disk.
    hosts
        Names under which browsers reach the server, beside those of this machine itself.
    password_file
        File with the hash of the password that visitors must give; ``None``: none is asked for.
    user_header
        Header in which a proxy names the user that it has checked; empty: none.
    proxies
        Addresses from which that header is believed.

    Examples
    --------
    >>> Serving.read(Serving(Path("/srv"), hosts=("a.example",)).environment()).hosts
    ('a.example',)
    >>> Serving(Path("/srv")).guarded
    False
    """

    data: Path
    persist: bool = True
    hosts: tuple[str, ...] = ()
    password_file: Path | None = None
    user_header: str = ""
    proxies: tuple[str, ...] = LOOPBACK_PEERS

    @property
    def guarded(self) -> bool:
        """Whether a visitor must say who he is."""
        return self.password_file is not None or bool(self.user_header)

    def environment(self) -> dict[str, str]:
        """The variables from which :meth:`read` makes these settings.

        With them, Uvicorn leaves a proxy's headers alone: whom to believe is decided by ``proxies``.
        """
        return {
            "FORWARDED_ALLOW_IPS": "",
            DATA: str(self.data),
            PERSIST: "1" if self.persist else "0",
            HOSTS: ",".join(self.hosts),
            PASSWORD: str(self.password_file or ""),
            HEADER: self.user_header,
            PROXIES: ",".join(self.proxies),
        }

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Serving:
        """The settings that the variables state; defaults where one is missing."""
        password = environment.get(PASSWORD, "")
        return cls(
            data_folder(environment),
            environment.get(PERSIST, "1") != "0",
            _listed(environment.get(HOSTS, "")),
            Path(password) if password else None,
            environment.get(HEADER, "").strip(),
            _listed(environment.get(PROXIES, "")) or LOOPBACK_PEERS,
        )


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a person's work is kept: ``$NONA_DATA_DIR``, or the user's own folder for data.

    >>> data_folder({"NONA_DATA_DIR": "/srv/nona"}).as_posix()
    '/srv/nona'
    """
    named = environment.get(DATA)
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "nona-planner"
    given = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    return (Path(given) if given else Path.home() / ".local" / "share") / "nona-planner"


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
