"""Import torch, torchvision and transformers so that a CPU-only torch will do."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from typing import Any

TESTED = {"torch": "2.13.0", "torchvision": "0.28.0", "transformers": "5.23.0", "onnxscript": "0.7.2"}


def _without_meta_registrations() -> None:
    # torchvision's wheel registers shape rules for operators that exist only in its CUDA build, and
    # stops with "operator torchvision::nms does not exist" beside a CPU-only torch. None of the
    # sample networks uses these operators. transformers imports torchvision, hence here, first.
    sys.modules.setdefault("torchvision._meta_registrations", types.ModuleType("unused"))


def torchvision_models() -> Any:
    """The module ``torchvision.models``."""
    _without_meta_registrations()
    return importlib.import_module("torchvision.models")


def transformers() -> Any:
    """The module ``transformers``."""
    _without_meta_registrations()
    return importlib.import_module("transformers")


def versions() -> dict[str, str]:
    """Installed versions of what shapes the graphs; warns where they are not the tested ones."""
    found = {}
    for name, tested in TESTED.items():
        module = transformers() if name == "transformers" else None
        if name == "torchvision":
            torchvision_models()
        module = module or importlib.import_module(name)
        found[name] = str(module.__version__).split("+")[0]
        if found[name] != tested:
            warnings.warn(
                f"{name} {found[name]} is not the tested {tested}: graphs may come out different.",
                stacklevel=2,
            )
    return found
