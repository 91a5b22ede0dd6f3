"""Tell from the first bytes what a file is, so that a wrong extension gets a helpful answer."""

from __future__ import annotations

import re

_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive (PyTorch checkpoints are)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89HDF", "an HDF5 file (Keras weights are)"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a Git LFS pointer instead of the file it stands for"),
    (b"GGUF", "a GGUF model"),
)
# possessive: no other way of reading the comments is tried, so the time is linear
_COMMENTS = rb"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_DOT = re.compile(_COMMENTS + rb"(?:strict\s+)?(?:di)?graph\b[^;={]{0,200}+\{", re.I)


def sniff(data: bytes) -> str:
    """The reader whose format ``data`` looks like, a description of a foreign one, or ``""``.

    >>> sniff(b' {"nodes": []}'), sniff(b"digraph { a -> b }"), sniff(b"PK\\x03\\x04...")
    ('json', 'dot', 'a ZIP archive (PyTorch checkpoints are)')
    """
    head = data[:4096].removeprefix(b"\xef\xbb\xbf")
    text = head.lstrip()
    if text.startswith((b'{"', b"{\n", b"{ ", b"{\r", b"{}", b"{\t", b"[")) and 0 not in head:
        return "json"
    if text.startswith((b"<?xml", b"<graphml", b"<!DOCTYPE")):
        return "graphml"
    if _DOT.match(text):
        return "dot"
    if text.startswith(b"<") and 0 not in head:
        return "graphml"
    if head.startswith(b"\x80") and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle (never opened here)"
    return next((what for magic, what in _FOREIGN if head.startswith(magic)), "")
