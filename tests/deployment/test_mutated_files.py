"""Damaged samples end in one line with file and place; nothing hangs, nothing is run, no traceback."""

import random
import re
from pathlib import Path

import pytest
from importing import DATA, samples
from sizes import sized

from nona.core.errors import NonaError
from nona.deployment.files import file_of
from nona.deployment.importing import import_files

SAMPLES = sorted(p for p in DATA.rglob("*") if p.is_file() and p.stat().st_size and p.suffix != ".py")
PLACED = re.compile(r":\d+: |no file of a known kind|^[\w./]+\d: ")
PIECES = [
    "",
    "{",
    "}",
    "[",
    "]",
    ":",
    '"',
    "\n",
    "-1",
    "1e999",
    "null",
    "true",
    "\0",
    "é",
    "\t",
    "999999999999",
]


def damaged(text: str, draw: random.Random) -> str:
    """The text with a few places changed."""
    for _ in range(draw.randint(1, 4)):
        at, length = draw.randrange(len(text) + 1), draw.choice((0, 1, 1, 5, 40, 400))
        piece = draw.choice((draw.choice(PIECES), text[at : at + 60], str(draw.randint(-9, 9))))
        text = text[:at] + piece + text[at + length :]
    return text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: str(p.relative_to(DATA)))
def test_mutations_end_in_a_line(path: Path):
    name = str(path.relative_to(DATA))
    top = name.partition("/")[0]
    others = [f for f in samples(top) if f.name != name]
    draw, text = random.Random(name), path.read_text()
    for _ in range(sized(60, 300)):
        changed = damaged(text, draw)
        try:
            found = import_files([file_of(name, changed.encode()), *others])
            assert found.text
        except NonaError as error:
            message = str(error)
            assert "\n" not in message
            assert PLACED.search(message), message
