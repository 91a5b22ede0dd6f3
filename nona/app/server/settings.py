"""Settings of a server, handed to its process as environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

DATA, PERSIST, HOSTS, PASSWORD, HEADER, PROXIES, STORE, SHARED = (
    "NONA_DATA_DIR",
    "NONA_PERSIST",
    "NONA_ALLOWED_HOSTS",
    "NONA_PASSWORD_FILE",
    "NONA_USER_HEADER",
    "NONA_PROXIES",
    "NONA_STORE",
    "NONA_SHARED_STORE",
)
LOOPBACK_PEERS = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Serving:
    """Settings of one server.

    ``data``: folder in which workspaces are kept.
    ``persist``: True if workspaces are kept on disk.
    ``hosts``: names under which browsers reach the server, beside those of this machine itself.
    ``password_file``: file with the hash of the password that visitors must give; ``None``: none is asked
        for.
    ``user_header``: header in which a proxy names the user that it has checked; empty: none.
    ``proxies``: addresses from which that header is believed.
    ``store``: folder of the database of saved items; ``None``: ``data``.
    ``shared_store``: True if every visitor sees all saved items.

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
    store: Path | None = None
    shared_store: bool = False

    @property
    def guarded(self) -> bool:
        """True where visitors must identify themselves."""
        return self.password_file is not None or bool(self.user_header)

    def environment(self) -> dict[str, str]:
        """Return the variables from which :meth:`read` makes these settings.

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
            STORE: str(self.store or ""),
            SHARED: "1" if self.shared_store else "0",
        }

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Serving:
        """Return the settings that the variables state; defaults where one is missing."""
        password = environment.get(PASSWORD, "")
        return cls(
            data_folder(environment),
            environment.get(PERSIST, "1") != "0",
            _listed(environment.get(HOSTS, "")),
            Path(password) if password else None,
            environment.get(HEADER, "").strip(),
            _listed(environment.get(PROXIES, "")) or LOOPBACK_PEERS,
            Path(environment[STORE]) if environment.get(STORE) else None,
            environment.get(SHARED, "0") == "1",
        )


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a person's work: ``$NONA_DATA_DIR``, or the user's own folder for data.

    >>> data_folder({"NONA_DATA_DIR": "/srv/nona"}).as_posix()
    '/srv/nona'
    """
    named = environment.get(DATA)
    if named:
        return Path(named)
    return platformdirs.user_data_path("nona-planner", appauthor=False)


def store_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of saved items: ``$NONA_STORE``, or :func:`data_folder`.

    >>> store_folder({"NONA_DATA_DIR": "/srv/nona"}).as_posix(), store_folder({"NONA_STORE": "/a"}).as_posix()
    ('/srv/nona', '/a')
    """
    named = environment.get(STORE)
    return Path(named) if named else data_folder(environment)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
