"""A visitor of the app without a browser: it speaks Streamlit's protocol over a WebSocket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.sync.client import ClientConnection, connect

VALUES = {"button": "trigger_value", "text_input": "string_value", "number_input": "double_value"}


class Visitor:
    """One tab of one browser.

    Parameters
    ----------
    port
        Of the server on this machine.
    cookie
        The ``name=value`` of an earlier visit of the same browser; a new browser has none.
    """

    def __init__(self, port: int, cookie: str = "") -> None:
        self.port, self.cookie = port, cookie or _cookie(port)
        own = f"http://127.0.0.1:{port}"
        self._left = ExitStack()
        connecting = connect(
            f"ws://127.0.0.1:{port}/_stcore/stream",
            additional_headers={"Cookie": self.cookie},
            origin=own,  # type: ignore[arg-type]
            subprotocols=["streamlit"],  # type: ignore[list-item]
            max_size=None,
            close_timeout=1,
        )
        self._socket: ClientConnection = self._left.enter_context(connecting)
        self._elements: dict[tuple[int, ...], Any] = {}
        self._cached: dict[str, ForwardMsg] = {}
        self._states: dict[str, WidgetState] = {}
        self._page = ""

    def open(self, page: str = "", most_s: float = 60.0) -> float:
        """Open a page by its path; returns seconds until it stands."""
        self._page = page
        return self._ask(most_s)

    def press(self, label: str, most_s: float = 60.0) -> float:
        """Press the first button of that label."""
        element = self.find("button", label)
        self._states[element.id] = WidgetState(id=element.id, trigger_value=True)
        try:
            return self._ask(most_s)
        finally:
            del self._states[element.id]

    def fill(self, kind: str, label: str, value: str | float) -> float:
        """Write into a field of a kind (``text_input``, ``number_input``)."""
        element = self.find(kind, label)
        self._states[element.id] = WidgetState(id=element.id, **{VALUES[kind]: value})
        return self._ask()

    def find(self, kind: str, label: str) -> Any:
        """The first element of that kind and label; raises ``LookupError``."""
        seen = [e for e in self.every(kind) if label in e.label]
        if not seen:
            raise LookupError(f"no {kind} {label!r} among {[e.label for e in self.every(kind)]}")
        return seen[0]

    def every(self, kind: str) -> Iterator[Any]:
        """All elements of a kind that stand on the page."""
        return (getattr(e, kind) for e in self._elements.values() if e.WhichOneof("type") == kind)

    def text(self) -> str:
        """All that stands on the page."""
        return "\n".join(str(e) for e in self._elements.values())

    def until(self, holds: Callable[[], bool], most_s: float = 60.0) -> bool:
        """Take in what the server sends until a condition holds."""
        end = time.monotonic() + most_s
        while not holds():
            if time.monotonic() > end:
                return False
            try:
                self._take(self._socket.recv(timeout=0.1))
            except TimeoutError:
                continue
        return True

    def exceptions(self) -> list[str]:
        """Messages of exceptions that the page shows."""
        return [e.message for e in self.every("exception")]

    def close(self) -> None:
        """Leave."""
        self._left.close()

    def _ask(self, most_s: float = 60.0) -> float:
        begun, self._finished = time.monotonic(), False
        message = BackMsg()
        message.rerun_script.page_name = self._page
        message.rerun_script.widget_states.CopyFrom(WidgetStates(widgets=list(self._states.values())))
        self._socket.send(message.SerializeToString())
        if not self.until(lambda: self._finished, most_s):
            raise TimeoutError(f"page {self._page!r} does not stand after {most_s} s")
        return time.monotonic() - begun

    def _take(self, data: str | bytes) -> None:
        message = ForwardMsg()
        message.ParseFromString(data if isinstance(data, bytes) else data.encode())
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            path = message.metadata.delta_path
            message = self._cached[message.ref_hash]
            kind = message.WhichOneof("type")
            message.metadata.delta_path[:] = path
        elif message.metadata.cacheable:
            self._cached[message.hash] = message
        if kind == "new_session":
            self._elements.clear()
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._elements[tuple(message.metadata.delta_path)] = message.delta.new_element
        elif kind == "script_finished":
            self._finished = message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            )


def _cookie(port: int) -> str:
    """What a browser gets that has never been here."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/", headers={"Accept": "text/html"})
    given = connection.getresponse().getheader("set-cookie") or ""
    connection.close()
    return given.partition(";")[0]
