"""A fifth family of jobs is one folder and one line in the tuple."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parent.parent
FAMILY = '''
"""Printing jobs on a shared printer: a family in 60 lines."""
from dataclasses import dataclass

import click

from nona.core.document import Document
from nona.core.family import Family, PageEntry, ResultKind, TaskKind
from nona.core.registry import ChartStyle, Registry, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Strategy):
    """An order of printing."""


SHORTEST = Order(
    name="shortest-page-first", summary="Prints the shortest first.", source="none", adaptation="none",
    style=ChartStyle("#123456", "solid", "circle"),
)
ORDERS = Registry("Order", (SHORTEST,))


class Printed(Document):
    """Pages that were printed."""

    pages: int


def print_all(spec, desk) -> Printed:
    """Print all pages."""
    return Printed(pages=int(spec["pages"]))


def unknown(data):
    """Name what stands for nothing."""
    for name in data["printing"]["orders"]:
        if name not in ORDERS:
            yield f"printing.orders: {name!r} is not known; choose from {', '.join(ORDERS)}."


@click.command("print", help="print pages")
@click.argument("pages", type=int)
def command(pages):
    click.echo(f"{pages} pages")


PRINTING = Family(
    name="printing",
    pages=(PageEntry("printing", "Printing", "print", "Who prints first?"),),
    commands=("printing:command",),
    tasks=(TaskKind("print", "printing run", ("seed",), "printing:print_all"),),
    saved=(ResultKind("printed", "printing run", "printing:Printed", "printing:ORDERS"),),
    styles=("printing:ORDERS",),
    keys=("printing",),
    unknown="printing:unknown",
)
'''
ASKED = """
import json

import nona.families

nona.families.FAMILIES += ("printing:PRINTING",)

from nona.app.jobs.kinds import KINDS
from nona.app.session.page_list import PAGES
from nona.app.store.contents import SAVED_KINDS
from nona.cli.main import nona as program
from nona.core.figures import scheduler_style
from nona.scenario.unknown import unknown_names

kind = KINDS.find("print")
print(json.dumps({
    "result": kind.read(kind.task()({"pages": 3}, None).to_json()).pages,
    "page": PAGES["printing"].file,
    "saved": SAVED_KINDS.find("printed").noun,
    "command": "print" in program.commands,
    "colour": scheduler_style("shortest-page-first").colour,
    "unknown": unknown_names({"printing": {"orders": ["shortest-page-first", "longest"]}}),
}))
"""


def test_a_fifth_family_is_one_folder_and_one_line(tmp_path):
    (tmp_path / "printing.py").write_text(dedent(FAMILY))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "result": 3,
        "page": "pages/printing.py",
        "saved": "printing run",
        "command": True,
        "colour": "#123456",
        "unknown": ["printing.orders: 'longest' is not known; choose from shortest-page-first."],
    }
