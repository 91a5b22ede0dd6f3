"""A visitor of the app without a browser: one WebSocket that speaks as Streamlit's page does.

It changes pages, presses buttons, and polls as often as the page is told to, as a browser would. It draws
nothing: what a browser spends on drawing is not in its times.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE_S, AGAIN_S = 60.0, 5.0
DONE = ForwardMsg.FINISHED_SUCCESSFULLY


class Visitor:
    """One open tab."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("http", "ws", 1) + "/_stcore/stream"
        self._socket: ClientConnection | None = None
        self._pages: dict[str, str] = {}  # the script's hash by the page's path
        self._page = ""
        self._buttons: dict[str, str] = {}  # id by key, of the last whole run
        self._polls: dict[str, asyncio.Task[None]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._change = asyncio.Condition()
        self._run = ""  # the page that the whole run going on draws
        self._done = 0
        self.texts: list[str] = []  # of the last whole run, and of the fragments since
        self.job = ""  # what the side bar said last of a simulation: "waiting", "running"
        self.failures: list[str] = []
        self.repeated = 0  # page changes that had to be asked for again

    async def open(self, page: str) -> None:
        """Connect, and wait until the page stands."""
        self._socket = await connect(self._url, subprotocols=["streamlit"], max_size=None)  # type: ignore[list-item]
        self._reader = asyncio.create_task(self._read(self._socket))
        await self._ask()
        await self._until(lambda: self._done > 0)
        await self.go(page)

    async def close(self) -> None:
        """Leave, as a tab that is closed."""
        for poll in self._polls.values():
            poll.cancel()
        if self._socket is not None:
            await self._socket.close()
        if self._reader is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader

    async def go(self, page: str) -> float:
        """Change the page; returns the seconds until it stands.

        Polls of the old page end first, as Streamlit's own page ends them: one that is sent later would take
        the place of the change. Asks again after ``AGAIN_S``, as a person clicks again.
        """
        begin, target = time.perf_counter(), self._pages[page]
        done = self._done
        for fragment in list(self._polls):
            self._stop(fragment)
        for _ in range(int(PATIENCE_S / AGAIN_S)):
            self._page = target
            await self._ask()
            try:
                await self._until(lambda: self._done > done and self._run == target, AGAIN_S)
            except TimeoutError:
                self.repeated += 1
            else:
                return time.perf_counter() - begin
        raise TimeoutError(f"page {page!r} does not stand after {PATIENCE_S:.0f} s")

    async def press(self, key: str) -> None:
        """Press a button, and wait until the page stands again."""
        button, done = self._buttons[key], self._done
        await self._ask(button=button)
        await self._until(lambda: self._done > done)

    def has(self, key: str) -> bool:
        """Whether the page has that button."""
        return key in self._buttons

    async def _until(self, condition: Callable[[], bool], most_s: float = PATIENCE_S) -> None:
        async with self._change:
            await asyncio.wait_for(self._change.wait_for(condition), most_s)

    async def _ask(self, fragment: str = "", button: str = "") -> None:
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = "", self._page
        if fragment:
            asked.fragment_id, asked.is_auto_rerun = fragment, True
        if button:
            state = asked.widget_states.widgets.add()
            state.id, state.trigger_value = button, True
        asked.SetInParent()
        if self._socket is not None:
            await self._socket.send(message.SerializeToString())

    async def _read(self, socket: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for data in socket:
                if isinstance(data, bytes):
                    message = ForwardMsg()
                    message.ParseFromString(data)
                    async with self._change:
                        self._take(message, data)
                        self._change.notify_all()

    def _take(self, message: ForwardMsg, data: bytes) -> None:
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self._pages = {p.url_pathname: p.page_script_hash for p in message.navigation.app_pages}
        elif kind == "new_session" and not message.metadata.run.fragment_ids:
            self._begin(message.new_session.page_script_hash)
        elif kind == "auto_rerun":
            output = message.auto_rerun
            self._stop(output.fragment_id)
            self._polls[output.fragment_id] = asyncio.create_task(
                self._poll(output.fragment_id, output.interval)
            )
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._stop(fragment)
        elif kind == "script_finished" and message.script_finished == DONE:
            self._done += 1
        elif kind == "delta":
            self._draw(message, data)

    def _begin(self, page: str) -> None:
        self._run, self._page = page, page
        self._buttons, self.texts, self.job = {}, [], ""
        for fragment in list(self._polls):
            self._stop(fragment)

    def _draw(self, message: ForwardMsg, data: bytes) -> None:
        element = message.delta.new_element
        for found in re.findall(rb"\$\$ID-[0-9a-f]+-[\w-]+", data):
            name = found.decode()
            self._buttons[name.split("-", 2)[2]] = name
        kind = element.WhichOneof("type")
        if kind is None:
            return
        if kind == "exception":
            self.failures.append(element.exception.message)
        text = str(getattr(getattr(element, kind, None), {"progress": "text"}.get(kind, "body"), ""))
        self.texts.append(text)
        if kind == "progress" and text.startswith("Simulation "):
            self.job = text.split()[1]

    def _stop(self, fragment: str) -> None:
        poll = self._polls.pop(fragment, None)
        if poll is not None:
            poll.cancel()

    async def _poll(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self._ask(fragment)
