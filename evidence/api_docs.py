"""``python -m evidence.api_docs FOLDER``: write the Python API as HTML, from the docstrings of its names.

The API is what ``nona.PUBLIC`` names. A warning of pdoc is an error: of an
annotation that it cannot resolve, for example.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pdoc

import nona

_ONLY_THE_PACKAGE = ("nona", r"!nona\..*")


def write_api(folder: Path) -> None:
    """Write the pages into ``folder``.

    Raises
    ------
    Warning
        The first one that pdoc gives.
    """
    for name in nona.__all__:
        setattr(nona, name, getattr(nona, name))  # pdoc reads a module's dictionary, which does not import
    pdoc.render.configure(docformat="numpy", show_source=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc(*_ONLY_THE_PACKAGE, output_directory=folder)


if __name__ == "__main__":
    write_api(Path(sys.argv[1]))
