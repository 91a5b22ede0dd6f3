"""What a package offers by name is there."""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import nona


def test_every_name_that_a_module_lists_exists():
    places = [
        "nona",
        *(m.name for m in walk_packages(nona.__path__, "nona.") if not m.name.endswith("__main__")),
    ]
    listing = [p for p in places if "__all__" in _source(p)]
    assert "nona" in listing
    for place in listing:
        module = import_module(place)
        missing = [name for name in module.__all__ if not hasattr(module, name)]
        assert not missing, f"{place}: {missing}"


def _source(place):
    base = Path(nona.__path__[0], *place.split(".")[1:])
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    return file.read_text("utf-8")
