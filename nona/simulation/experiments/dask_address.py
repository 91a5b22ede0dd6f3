"""Address of a Dask scheduler: whether it can be one, and whether a scheduler answers there.

Dask's own client tries for many seconds, and prints a traceback, where nothing can ever answer.
"""

from __future__ import annotations

import importlib
import re
import socket

from nona.errors import SimulationError

ANSWER_S = 5.0  # for the connection, and again for the first byte: a scheduler speaks first
_ADDRESS = re.compile(
    r"(?:(?P<scheme>tcp|tls)://)?(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[\w.-]+)):(?P<port>\d{1,5})"
)


def check_address(address: str, timeout_s: float = ANSWER_S) -> None:
    """Raise at once for what is no address, and within ``timeout_s`` where no scheduler answers.

    Over TLS only the connection is tried: the server waits for the client there.

    Raises
    ------
    SimulationError
        See above; for ``tls`` also when Dask's configuration names no certificates.

    >>> check_address("http://host:8786")
    Traceback (most recent call last):
    nona.errors.SimulationError: Dask: no scheduler answers at 'http://host:8786' (an address is \
tcp://HOST:PORT); start one with `dask scheduler`, and give the address that it prints.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise unanswered(address, "an address is tcp://HOST:PORT")
    tls = found["scheme"] == "tls"
    if tls and not importlib.import_module("dask.config").get("distributed.comm.tls.ca-file", None):
        raise unanswered(address, "Dask's setting distributed.comm.tls.ca-file names no certificates")
    try:
        place = (found["six"] or found["host"], int(found["port"]))
        with socket.create_connection(place, timeout=min(timeout_s, ANSWER_S)) as connection:
            if not tls and not connection.recv(1):
                raise unanswered(address, "the connection was closed")
    except TimeoutError as error:
        raise unanswered(address, f"silent for {min(timeout_s, ANSWER_S):g} s") from error
    except (OSError, UnicodeError) as error:  # the latter from names that no host can have
        raise unanswered(address, " ".join(str(error).split())) from error


def unanswered(address: str, why: str) -> SimulationError:
    """The error of one line that no scheduler answers at ``address``."""
    return SimulationError(
        f"Dask: no scheduler answers at {address!r} ({why}); start one with `dask scheduler`, and give the "
        "address that it prints."
    )
