"""Check who may come in, then become the server's process: the command ``nona app``.

Nothing that takes long to import is imported here: the server does its own imports.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from getpass import getpass

from click.exceptions import Exit

from nona import app_root
from nona.app.server.access import (
    FILE,
    WILDCARDS,
    PasswordError,
    host_name,
    is_address,
    is_loopback,
    read_password,
    write_password,
)
from nona.app.server.ending import hold_signals
from nona.app.server.settings import LOOPBACK_PEERS, Serving, data_folder, store_folder
from nona.cli.commands.scenarios import AppOptions
from nona.cli.declared import opened, scenario_path
from nona.core.errors import NonaError

UPLOAD_MB = 16  # for each file, where others may upload
HEADER_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class ServingError(NonaError):
    """Options of ``nona app`` that would open the server to people who are not meant."""


def _serving_of(arguments: AppOptions) -> Serving:
    host, names = arguments.host, arguments.allow_name
    _check(arguments)
    beyond = not is_loopback(host) or bool(names)
    path = arguments.password_file
    if path is None and beyond and not arguments.user_header:
        path = data_folder() / FILE
        if not path.is_file():
            what = f"--host {host}" if not is_loopback(host) else f"--allow-name {names[0]}"
            raise ServingError(
                f"{what}: others reach the server, so it must ask for a password; set one with "
                "`nona app --set-password`, or name your proxy's header with --user-header."
            )
    if path is not None:
        read_password(path)
        path = path.resolve()
    return Serving(
        data_folder().absolute(),
        not arguments.no_persist,
        names,
        path,
        arguments.user_header,
        arguments.proxy or LOOPBACK_PEERS,
        (arguments.store or store_folder()).absolute(),
        arguments.shared_store,
    )


def _check(arguments: AppOptions) -> None:
    """Refuse options that are no addresses, names or headers."""
    if arguments.host != "localhost" and not is_address(arguments.host):
        raise ServingError(f"--host {arguments.host}: is no address; give one, e.g. 192.168.0.7 or 0.0.0.0.")
    for name in arguments.allow_name:
        if host_name(name.removeprefix("*.")) is None or "," in name:
            raise ServingError(f"--allow-name {name}: is no host name; give one, e.g. plan.example.com.")
    for proxy in arguments.proxy:
        if not is_address(proxy):
            raise ServingError(f"--proxy {proxy}: is no address; give the proxy's own, e.g. 10.0.0.2.")
    if arguments.proxy and not arguments.user_header:
        raise ServingError("--proxy: says whose header is believed; name the header with --user-header.")
    if not set(arguments.user_header.lower()) <= HEADER_LETTERS:
        raise ServingError(
            f"--user-header {arguments.user_header}: is no name of a header; give one, e.g. X-Remote-User."
        )


def _server_flags(arguments: AppOptions, serving: Serving) -> list[str]:
    """Return the server's own options: where it listens, and smaller uploads where others may send them."""
    flags = ["--server.address", arguments.host]
    shown = next((n for n in arguments.allow_name if not n.startswith("*.")), None)
    if shown is None:
        shown = "localhost" if arguments.host in WILDCARDS else arguments.host
    flags += ["--browser.serverAddress", f"[{shown}]" if ":" in shown else shown]
    return [*flags, "--server.maxUploadSize", str(UPLOAD_MB)] if serving.guarded else flags


def _exposed(arguments: AppOptions, serving: Serving) -> list[str]:
    """Describe what visitors can do, a line each; empty where only this machine reaches the server."""
    if not serving.guarded:
        return []
    who = (
        f"whom the proxy at {' or '.join(serving.proxies)} names in {serving.user_header}"
        if serving.user_header
        else "who give the password"
    )
    if serving.user_header and serving.password_file:
        who += ", or who give the password"
    return [
        f"Listening on {arguments.host}, port {arguments.port}. Visitors {who} can:",
        f"  - upload models and tables of up to {UPLOAD_MB} MB each, which this machine reads;",
        "  - run placements and simulations on its cores, a few at a time for all;",
        "  - keep their own workspace"
        + (f" on disk in {serving.data}." if serving.persist else " until the server ends."),
        (
            "  - see all saved runs, and save runs that all visitors see."
            if serving.shared_store
            else "  - save runs that only they see."
        ),
        "Visitors cannot see each other's workspaces. The connection is not encrypted: put a proxy with TLS "
        "in front of it (docs/deployment.md).",
    ]


def _set_password(arguments: AppOptions) -> str:
    """Ask for a password twice, or read a line from a pipe; keep its hash, and say where."""
    path = arguments.password_file or data_folder() / FILE
    if sys.stdin.isatty():
        given = getpass("Password: ")
        if getpass("Repeat the password: ") != given:
            raise PasswordError("Password: the two entries differ; try again.")
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    try:
        write_password(path, given)
    except OSError as error:
        raise PasswordError(
            f"File {path}: cannot be written ({error.strerror}); name another file."
        ) from error
    return f"{path}: holds the password's hash; servers that use it ask for the new one from now on."


START_WITH = "NONA_SCENARIO"  # read by nona.app.session.opening


def app(arguments: AppOptions) -> None:
    """Serve the browser app until a signal ends it; new sessions open the given scenario."""
    if arguments.set_password:
        print(_set_password(arguments))
        return
    serving = _serving_of(arguments)
    environment = {**os.environ, **serving.environment()}
    if arguments.scenario:
        opened(arguments.scenario)  # refused here, not in the browser
        environment[START_WITH] = str(scenario_path(arguments.scenario).resolve())
    _check_port(arguments.host, arguments.port)
    for line in _exposed(arguments, serving):
        print(line, file=sys.stderr)
    command = [sys.executable, "-m", "nona.app.server.process", str(app_root() / "app.py")]
    command += ["--server.port", str(arguments.port)]
    command += ["--server.headless", "true" if arguments.no_browser else "false"]
    command += ["--server.showEmailPrompt", "false"]  # the first start must not wait for an answer
    command += _server_flags(arguments, serving)
    _become(command, environment)


def _check_port(host: str, port: int) -> None:
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


def _become(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Go on as another program, so that signals reach it and its exit status is this one's."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        hold_signals()
        os.execve(command[0], list(command), dict(environment))
    raise Exit(subprocess.run(command, check=False, env=environment).returncode)
