"""``nona app``: checks what was asked, then becomes the server's process.

Nothing that takes long to import is imported here: the server does its own imports.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from click.exceptions import Exit

from nona import app_root
from nona.cli.options import AppOptions
from nona.cli.serving.command import ServingError, exposed, server_flags, serving_of, set_password
from nona.serving.ending import hold_signals

START_WITH = "NONA_SCENARIO"  # read by nona.ui.session.start


def app(arguments: AppOptions) -> None:
    """Serve the browser app until a signal ends it; new sessions open the given scenario.

    Raises
    ------
    NonaError
        When the options open the server to others by mistake, the scenario cannot be read, or nothing can
        listen on the port.
    """
    if arguments.set_password:
        print(set_password(arguments))
        return
    serving = serving_of(arguments)
    environment = {**os.environ, **serving.environment()}
    if arguments.scenario:
        from nona.cli.opened import opened, scenario_path

        opened(arguments.scenario)  # refused here, not in the browser
        environment[START_WITH] = str(scenario_path(arguments.scenario).resolve())
    check_port(arguments.host, arguments.port)
    for line in exposed(arguments, serving):
        print(line, file=sys.stderr)
    command = [sys.executable, "-m", "nona.ui.server.process", str(app_root() / "app.py")]
    command += ["--server.port", str(arguments.port)]
    command += ["--server.headless", "true" if arguments.no_browser else "false"]
    command += ["--server.showEmailPrompt", "false"]  # the first start must not wait for an answer
    command += server_flags(arguments, serving)
    become(command, environment)


def check_port(host: str, port: int) -> None:
    """Refuse a port on which nothing can listen; raises :class:`ServingError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            if os.name != "nt":  # there it would allow what it must not
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
            trial.listen()
    except OSError as error:
        raise ServingError(
            f"--port {port}: nothing can listen there on {host} ({error.strerror}); name another, e.g. "
            f"--port {port + 1 if port < 65535 else 8501}."
        ) from error


def become(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Go on as another program, so that signals reach it and its exit status is this one's.

    Raises
    ------
    Exit
        With the program's exit status, on systems where a process cannot become another.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        hold_signals()
        os.execve(command[0], list(command), dict(environment))
    raise Exit(subprocess.run(command, check=False, env=environment).returncode)
