"""``python -m evidence.api_docs FOLDER``: write the Python API as HTML, from the docstrings of its names.

The API is what ``nona.PUBLIC`` names. A warning of pdoc is an error: of an
annotation that it cannot resolve, for example.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import get_type_hints

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
        value = getattr(nona, name)
        setattr(nona, name, value)  # pdoc reads a module's dictionary, which does not import
        if isinstance(value, type):
            _share_names(value)
    pdoc.render.configure(docformat="numpy", show_source=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc(*_ONLY_THE_PACKAGE, output_directory=folder)


def _share_names(kind: type) -> None:
    """Make the annotations of a class resolvable that it has from base classes, or from its fields."""
    scope = vars(sys.modules[kind.__module__])
    for base in kind.__mro__[1:]:
        for name, value in vars(sys.modules[base.__module__]).items():
            scope.setdefault(name, value)
    if hasattr(kind, "_fields"):  # a named tuple is made in a module that has no names
        kind.__new__.__annotations__ = get_type_hints(kind)


if __name__ == "__main__":
    write_api(Path(sys.argv[1]))
