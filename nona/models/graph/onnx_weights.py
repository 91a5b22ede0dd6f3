"""An ONNX file without its weights, made while it passes by.

A file of 2 GB has a few hundred kilobytes that matter: operators, names, types, shapes, short constants. The
numbers of a large tensor are passed over, and the tensor is marked as kept elsewhere.

Source of the numbers of fields: onnx.proto of the ONNX specification; the wire format of protobuf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from nona.core.errors import GraphError
from nona.models.graph.text import MAX_BYTES, quote

_SMALL = 65_536  # bytes of a message that is kept as it is
_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5  # wire types
_TENSOR = "TensorProto"
# message → number of field → the message in it
_INSIDE: Mapping[str, Mapping[int, str]] = {
    "ModelProto": {7: "GraphProto", 25: "FunctionProto"},
    "GraphProto": {1: "NodeProto", 5: _TENSOR, 15: "SparseTensorProto"},
    "FunctionProto": {7: "NodeProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {5: _TENSOR, 6: "GraphProto", 10: _TENSOR, 11: "GraphProto"},
    "SparseTensorProto": {1: _TENSOR, 2: _TENSOR},
}
_NUMBERS = frozenset({4, 5, 6, 7, 9, 10, 11})  # the fields of a tensor that hold its numbers
_ELSEWHERE = bytes([14 << 3, 1])  # data_location: EXTERNAL


class WeightStream(Protocol):
    """The source of a file."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at its end."""


class _TruncatedError(Exception):
    """The bytes are no ONNX file, or end too early."""


class _TooLargeError(Exception):
    """More is kept than a file may have."""


def without_weights(stream: WeightStream, length: int, filename: str) -> bytes:
    """Return the ONNX file of ``length`` bytes in ``stream`` without the numbers of its large tensors."""
    where = f"File {quote(filename)}"
    try:
        return _message(_Reading(stream, length), length, "ModelProto", 0)
    except _TruncatedError:
        raise GraphError(
            f"{where}: it is not an ONNX model, or it was cut short; export or copy it again."
        ) from None
    except _TooLargeError:
        raise GraphError(
            f"{where}: without its weights it has over {MAX_BYTES:,} bytes; make it smaller."
        ) from None


class _Reading:
    """The bytes so far: ``left`` are to come, ``kept`` are in the result."""

    def __init__(self, stream: WeightStream, left: int) -> None:
        self._stream, self.left, self.kept = stream, left, 0

    def read_bytes(self, size: int) -> bytes:
        self.kept += size
        if size > self.left:
            raise _TruncatedError
        if self.kept > MAX_BYTES:
            raise _TooLargeError
        parts = b""
        while len(parts) < size:
            piece = self._stream.read(size - len(parts))
            if not piece:
                raise _TruncatedError
            parts += piece
        self.left -= size
        return parts

    def skip(self, size: int) -> None:
        if size > self.left:
            raise _TruncatedError
        self.left -= size
        while size > 0:
            piece = self._stream.read(min(size, 1 << 20))
            if not piece:
                raise _TruncatedError
            size -= len(piece)

    def number(self) -> tuple[int, bytes]:
        """Return a varint and its bytes."""
        value, raw = 0, b""
        for shift in range(0, 70, 7):
            byte = self.read_bytes(1)
            raw += byte
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return value, raw
        raise _TruncatedError


_DEEPEST = 100  # as protobuf itself


def _message(reading: _Reading, length: int, kind: str, depth: int) -> bytes:
    if depth > _DEEPEST:
        raise _TruncatedError
    end, kept, dropped = reading.left - length, [], False
    while reading.left > end:
        tag, raw = reading.number()
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            raw += reading.number()[1]
        elif wire in (_FIXED_32, _FIXED_64):
            raw += reading.read_bytes(4 if wire == _FIXED_32 else 8)
        elif wire == _LENGTH:
            size, sized = reading.number()
            inner = _INSIDE.get(kind, {}).get(field)
            if size > _SMALL and kind == _TENSOR and field in _NUMBERS:
                reading.skip(size)
                dropped = True
                continue
            if size > _SMALL and inner is not None:
                content = _message(reading, size, inner, depth + 1)
                raw += _varint(len(content)) + content
            else:
                raw += sized + reading.read_bytes(size)
        else:
            raise _TruncatedError
        kept.append(raw)
    if reading.left < end:
        raise _TruncatedError
    return b"".join(kept) + (_ELSEWHERE if dropped else b"")


def _varint(value: int) -> bytes:
    raw = b""
    while value >= 0x80:
        raw += bytes([value & 0x7F | 0x80])
        value >>= 7
    return raw + bytes([value])
