"""A visitor of the app without a browser: it speaks Streamlit's protocol over a WebSocket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any

from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import DoubleArray, FileUploaderState, StringArray, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.sync.client import ClientConnection, connect

VALUES = {"button": "trigger_value", "text_input": "string_value", "number_input": "double_value"}
MARK = "$$ID-"  # what the identity of a field begins with; its key stands at the end


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
        self._keys: dict[str, str] = {}  # identity by key, of all fields on the page
        self._given: ForwardMsg | None = None  # where to send files
        self._page = ""

    def open(self, page: str = "", most_s: float = 60.0) -> float:
        """Open a page by its path; returns seconds until it stands."""
        self._page = page
        return self._ask(most_s)

    def press(self, label: str, most_s: float = 60.0) -> float:
        """Press the first button of that label."""
        return self._press(self.find("button", label).id, most_s)

    def press_key(self, key: str, most_s: float = 60.0) -> float:
        """Press the button of that key; raises ``LookupError``."""
        return self._press(self.identity(key), most_s)

    def _press(self, identity: str, most_s: float) -> float:
        self._states[identity] = WidgetState(id=identity, trigger_value=True)
        try:
            return self._ask(most_s)
        finally:
            del self._states[identity]

    def choose(self, key: str, value: str | bool | float | Sequence[str] | Sequence[float]) -> float:
        """Set the field whose key begins so: a tab or choice (text), switch, number, choices, slider."""
        identity = self.identity(key)
        state = WidgetState(id=identity)
        if isinstance(value, bool):
            state.bool_value = value
        elif isinstance(value, float):
            state.double_value = value
        elif isinstance(value, str):
            state.string_value = value
        elif all(isinstance(v, str) for v in value):
            state.string_array_value.CopyFrom(StringArray(data=[str(v) for v in value]))
        else:
            state.double_array_value.CopyFrom(DoubleArray(data=[float(v) for v in value]))
        self._states[identity] = state
        return self._ask()

    def has(self, key: str) -> bool:
        """Whether the page has a field of exactly that key."""
        return key in self._keys

    def identity(self, key: str) -> str:
        """The field of that key, or the first whose key begins so; raises ``LookupError``."""
        found = self._keys.get(key) or next((i for k, i in self._keys.items() if k.startswith(key)), None)
        if found is None:
            raise LookupError(f"page {self._page!r} has no field {key!r}, but {sorted(self._keys)}")
        return found

    def upload(self, key: str, name: str, data: bytes, most_s: float = 60.0) -> float:
        """Give a file to the upload field of that key."""
        self._given = None
        message, identity = BackMsg(), self.identity(key)
        message.file_urls_request.request_id = "upload"
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self._session
        self._socket.send(message.SerializeToString())
        self.until(lambda: self._given is not None, most_s)
        if self._given is None:
            raise TimeoutError(f"no address for the file {name!r} after {most_s} s")
        urls = self._given.file_urls_response.file_urls[0]
        _put(self.port, urls.upload_url, self.cookie, name, data)
        info = UploadedFileInfo(file_id=urls.file_id, name=name, size=len(data), file_urls=urls)
        held = FileUploaderState(uploaded_file_info=[info])
        self._states[identity] = WidgetState(id=identity, file_uploader_state_value=held)
        try:
            return self._ask(most_s)
        finally:
            del self._states[identity]  # the app has taken the file: a browser's field is empty now

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
            self._keys.clear()
            self._session = message.new_session.initialize.session_id
        elif kind == "file_urls_response":
            self._given = message
        elif kind == "delta":
            self._keys.update((i.split("-", 2)[2], i) for i in _identities(message.delta))
            if message.delta.WhichOneof("type") == "new_element":
                self._elements[tuple(message.metadata.delta_path)] = message.delta.new_element
        elif kind == "script_finished":
            self._finished = message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            )


def _identities(message: Message) -> Iterator[str]:
    """The identities of fields that stand in a message."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in [value] if isinstance(value, Message) else value:
                if isinstance(part, Message):
                    yield from _identities(part)
        elif isinstance(value, str) and value.startswith(MARK) and value.count("-") >= 2:
            yield value


def _put(port: int, path: str, cookie: str, name: str, data: bytes) -> None:
    """Send a file; raises ``OSError`` when it is refused."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/_stcore/health", headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    own = (answer.getheader("set-cookie") or "").partition(";")[0]
    edge = "----chaos"
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    headers = {
        "Cookie": "; ".join(part for part in (cookie, own) if part),
        "X-Xsrftoken": own.partition("=")[2],
        "Origin": f"http://127.0.0.1:{port}",
        "Content-Type": f"multipart/form-data; boundary={edge}",
    }
    connection.request("PUT", path, head.encode() + data + f"\r\n--{edge}--\r\n".encode(), headers)
    status = connection.getresponse().status
    connection.close()
    if status >= 300:
        raise OSError(f"the file {name!r} was refused with status {status}")


def _cookie(port: int) -> str:
    """What a browser gets that has never been here."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/", headers={"Accept": "text/html"})
    given = connection.getresponse().getheader("set-cookie") or ""
    connection.close()
    return given.partition(";")[0]
