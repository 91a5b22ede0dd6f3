"""From plain Python to machine code, kept on disk.

The core is compiled once: decision functions come to it as first-class functions with one fixed
signature, so a new policy costs a second or so. What is compiled lies in a folder named after a hash of
the core's sources and of Numba's version, the policies in files that are named after a hash of theirs: a
change makes a new folder, or new files in it, and nothing stale is ever loaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from nona import app_root, import_root
from nona.core.compiled.cache import base_folder, code_folder, make_own, tell_not_kept
from nona.core.compiled.memory import Field, RecordField
from nona.core.family import families
from nona.core.foreign import write_whole

_MANY = 1 << 40  # the length that arrays have in the loop: it asks the clock how much room there is


def _load(context: Any, builder: Any, state_type: Any, state: Any, place: int) -> Any:
    """Entry ``place`` of the state. Arrays never move while the loop runs, so one look is enough."""
    from numba.core import types
    from numba.np import arrayobj as numba_arrayobj

    arrayobj: Any = numba_arrayobj  # Numba has no types of its own
    whole = context.get_value_type(types.int64)
    array = arrayobj.make_array(state_type)(context, builder, state)
    load = builder.load(builder.gep(array.data, [whole(place)]))
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@cache
def _accessor(field: Field) -> Any:
    """Return the function that replaces a :class:`Field`: it gives the array."""
    from numba.core import cgutils as numba_cgutils
    from numba.core import types
    from numba.extending import intrinsic
    from numba.np import arrayobj as numba_arrayobj
    from numba.np import numpy_support

    arrayobj: Any = numba_arrayobj
    cgutils: Any = numba_cgutils
    array = types.Array(numpy_support.from_dtype(field.dtype), field.dimensions, "C")
    item = field.dtype.itemsize

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.get_value_type(types.int64)
        address, columns = (
            _load(context, builder, signature.args[0], arguments[0], 2 * field.number + k) for k in range(2)
        )
        view = arrayobj.make_array(array)(context, builder)
        pointer = builder.inttoptr(address, view.data.type)
        if field.dimensions == 1:
            shape, strides = [whole(_MANY)], [whole(item)]
        else:
            shape = [whole(_MANY), columns]
            strides = [builder.mul(columns, whole(item)), whole(item)]
        packed = (cgutils.pack_array(builder, sizes) for sizes in (shape, strides))
        arrayobj.populate_array(view, pointer, *packed, item, None)
        return view._getvalue()

    @intrinsic
    def get(typing: Any, s: Any) -> Any:
        return array(s), generate

    return get


@cache
def _row_accessor(row: RecordField) -> Any:
    """Return the function that replaces a :class:`RecordField`: one record of the array, in place."""
    from numba.core import types
    from numba.extending import intrinsic
    from numba.np import numpy_support

    record = numpy_support.from_dtype(row.field.dtype)
    item = row.field.dtype.itemsize

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.get_value_type(types.int64)
        address = _load(context, builder, signature.args[0], arguments[0], 2 * row.field.number)
        offset = builder.mul(arguments[1], whole(item))
        return builder.inttoptr(builder.add(address, offset), context.get_value_type(record))

    @intrinsic
    def get(typing: Any, s: Any, place: Any) -> Any:
        return record(s, types.int64), generate

    return get


_KEPT = 12  # folders (a few MB each) of other versions and checkouts that may still be in use
# Functions of the loop own no memory, so nothing has to be counted; nothing is divided by zero.
_LOOP = {"_nrt": False, "error_model": "numpy"}
# As fast as at 3 within 2 %, and a quarter less to compile: the loop has branches, no long arithmetic.
_LEVEL = 1
_INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Large and called from many places: inlined, they would be two thirds of the code to compile.
_NOT_INLINED = {"_pick_all", "take_over"}
# Modules that stay plain Python.
_PLAIN = {"arrays", "engine", "families", "preparation"}
_LOCK = threading.RLock()  # Numba's settings are the process's own
# Helpers that were compiled before, for the loop or not: policies have many in common.
_MADE: dict[bool, dict[FunctionType, Any]] = {False: {}, True: {}}


@cache
def cache_folder() -> Path:
    """Return the folder of this core's compiled code: one that is complete, or one that can be written."""
    name = f"engine-{_core_hash()}"
    complete = base_folder() / name
    folder = complete if (complete / _ready("queries")).exists() else code_folder() / name
    try:
        make_own(folder)
    except OSError as error:
        tell_not_kept(folder, error)
    return folder


def _core_hash() -> str:
    """Hash every module that may end up in the compiled core, and those that compile it."""
    here = [file for file in Path(__file__).parent.glob("*.py") if file.stem not in _PLAIN]
    parts = [path for family in families() for part in family.compiled for path in part.core]
    files = [file for path in parts for file in _python_files(import_root() / path)]
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    return _hash([*here, *files], str(import_root()), *versions, sys.version)


@cache
def sources_hash(family: str) -> str:
    """Hash the sources of a family: its compiled functions belong to it."""
    (path,) = (part.sources for of in families() for part in of.compiled if part.name == family)
    root = app_root() if path.startswith("evidence") else import_root()
    return _hash(_python_files(root / path))


def _python_files(path: Path) -> Iterable[Path]:
    return path.rglob("*.py") if path.is_dir() else [path]


def _hash(files: Iterable[Path], *texts: str) -> str:
    digest = hashlib.sha256("".join(texts).encode())
    for file in sorted(files):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _ready(family: str) -> str:
    return f"ready-{family}-{sources_hash(family)}"


def is_ready(family: str = "queries") -> bool:
    """Return whether a family was compiled before, so that it loads quickly.

    That of queries is the core and the shipped policies.
    """
    return (cache_folder() / _ready(family)).exists()


def mark_ready(family: str = "queries") -> None:
    """Say so; of the folders that former versions left, only the newest few stay."""
    folder = cache_folder()
    try:
        write_whole(folder / _ready(family), b"ready\n")
    except OSError as error:
        tell_not_kept(folder, error)
        return
    others = [f for f in folder.parent.glob("engine-*") if f != folder]
    for old in sorted(others, key=lambda f: f.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _numba(folder: Path) -> Iterator[ModuleType]:
    """Numba, with its cache in ``folder`` and at its level of optimisation while functions are compiled."""
    import numba  # it takes most of a second to import
    from numba.core.registry import cpu_target

    cpu_target.target_context.codegen()  # which takes the usual level for all that is compiled later
    config: Any = numba.config
    with _LOCK:
        before = config.CACHE_DIR, config.OPT
        config.CACHE_DIR, config.OPT = str(folder), type(config.OPT)(_LEVEL)
        try:
            yield numba
        finally:
            config.CACHE_DIR, config.OPT = before


def compile_function(
    function: Callable[..., Any], signature: Any, kept: bool = True, loop: bool = False
) -> Any:
    """Return ``function`` as machine code for these types, along with the plain functions that it calls.

    ``kept``: whether to keep the code on disk. Only for functions of this package: the folder's name tells of
        changes in no others.
    ``loop``: whether it belongs to the event loop, which allocates nothing; decision functions may.

    Raises ``TypeError`` when ``function`` is not a plain Python function.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"{function!r} must be a plain Python function; write it with def.")
    options: dict[str, Any] = _LOOP if loop else {}
    with _numba(cache_folder()) as numba:
        copy = _linked(numba, function, _MADE[loop], options, _callers(function, Counter()))
        if kept:
            from nona.core.compiled.decorator import kept_on_disk

            return kept_on_disk(copy, signature, **options)
        return numba.njit(signature, **options)(copy)


def _helpers(function: FunctionType) -> dict[str, FunctionType]:
    """Return the plain functions that it calls, by the names that they have there."""
    scope = function.__globals__
    values = {name: scope.get(name) for name in function.__code__.co_names}
    return {n: v for n, v in values.items() if isinstance(v, FunctionType) and v is not function}


def _callers(function: FunctionType, callers: Counter[FunctionType]) -> Counter[FunctionType]:
    """How many functions call each of the functions that are called from this one on."""
    for helper in _helpers(function).values():
        callers[helper] += 1
        if callers[helper] == 1:
            _callers(helper, callers)
    return callers


def _linked(
    numba: ModuleType,
    function: FunctionType,
    made: dict[FunctionType, Any],
    options: dict[str, Any],
    callers: Counter[FunctionType],
) -> Any:
    """Return a copy of ``function`` that calls compiled copies of its helpers."""
    from nona.core.compiled.parts import PartCompiler, PlainPartCompiler

    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, Field):
            scope[name] = _accessor(value)
        elif isinstance(value, RecordField):
            scope[name] = _row_accessor(value)
    for name, helper in _helpers(function).items():
        if helper not in made:
            inlined = helper.__name__ not in _NOT_INLINED
            compiler = PlainPartCompiler if inlined and callers[helper] == 1 else PartCompiler
            internal = numba.njit(forceinline=inlined, pipeline_class=compiler, **_INTERNAL, **options)
            made[helper] = internal(_linked(numba, helper, made, options, callers))
        scope[name] = made[helper]
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    return copy
