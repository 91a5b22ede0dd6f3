"""Parts of ``app.py`` for the server: the guard, start and end."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware
from streamlit import cli_util, config
from streamlit.web.server import server_util

from nona.app.server.access import WILDCARDS
from nona.app.server.ending import end_on_signals, ending, remove_temporary, sweep
from nona.app.server.guard import Guard
from nona.app.server.settings import Serving
from nona.app.server.streamlit_private import keep_in_order, look_up_nothing


def middleware() -> list[Middleware]:
    """Return the guard, with the settings of this process; look-ups of addresses are switched off with it."""
    look_up_nothing()
    return [Middleware(Guard, serving=Serving.read())]


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
    host = config.get_option("server.address") or "localhost"
    address = server_util.get_url("localhost" if host in WILDCARDS else host)
    print(f"\n  URL: {address}\n", flush=True)
    if not config.get_option("server.headless"):
        cli_util.open_browser(address)
    yield
    ending().run()
