"""What ``app.py`` hands to the server: the guard, and what happens when it starts and ends."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware
from streamlit import cli_util, config, net_util
from streamlit.web.server import server_util

from nona.serving.ending import end_on_signals, ending
from nona.serving.hosts import WILDCARDS
from nona.serving.settings import Serving
from nona.serving.temporary import remove_temporary, sweep
from nona.ui.server.guard import Guard
from nona.ui.server.in_order import keep_in_order


def middleware() -> list[Middleware]:
    """The guard, with the settings of this process; look-ups of addresses are switched off with it."""
    look_up_nothing()
    return [Middleware(Guard, serving=Serving.read())]


def look_up_nothing() -> None:
    """Keep Streamlit from asking a host elsewhere for this machine's address.

    It would do so to print that address, and, inside its event loop, to judge a foreign origin.
    """
    net_util._external_ip = "127.0.0.1"


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Show the app in a browser, unless the server was started without one; at the end put all away.

    The server's own way to end waits for connections to close, however long that takes, so the signals are
    taken from it.
    """
    sweep()
    keep_in_order()
    ending().add(remove_temporary)
    if threading.current_thread() is threading.main_thread():
        end_on_signals()
    if not config.get_option("server.headless"):
        address = config.get_option("server.address") or "localhost"
        cli_util.open_browser(server_util.get_url("localhost" if address in WILDCARDS else address))
    yield
    ending().run()
