"""Functions as machine code, kept on disk. Importing this imports Numba, which takes a while: do it late.

Numba's own cache unpickles whatever lies in its folder: a truncated file raises at every run, and a flipped
bit in machine code can end the process. Here the index holds the checksum of each data file, and one of its
own (:mod:`nona.core.compiled.cache`). Data are written before the index that names them, each by a rename: of
processes that compile at once, a reader finds the entries of one, or a mismatch, and compiles again.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import typeinfer
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
)

from nona.core.compiled.cache import code_folder, make_own, read_sealed, tell_not_kept, write_sealed

# What unpickling raises for data of an older version of the classes in it; the checksum excludes damage.
_OUTDATED = (AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError, pickle.PickleError)

F = TypeVar("F", bound=Callable[..., Any])


class _Place(UserProvidedCacheLocator):
    """In Numba's own setting if there is one, else in this program's cache; others cannot write there.

    An entry is outdated when any module of the function's package has changed: functions of other modules are
    compiled into it.
    """

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        given: str = config.CACHE_DIR  # type: ignore[attr-defined]
        root = Path(given) if given else code_folder() / "functions"
        self._cache_path = str(root / self.get_suitable_cache_subpath(file))

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Place:
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        make_own(Path(self._cache_path))

    def get_source_stamp(self) -> bytes:
        file = Path(self._py_file)
        package = (file.parent / "__init__.py").exists()
        return _hash_of(tuple(sorted(file.parent.glob("*.py"))) if package else (file,))


@cache
def _hash_of(files: tuple[Path, ...]) -> bytes:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.digest()


class _Results(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any]) -> None:
        self._locator_classes = [_Place]
        super().__init__(function)


class _Files(IndexDataCacheFile):
    """The index, from keys to names and checksums, and the data files of one function."""

    def save(self, key: Any, data: Any) -> None:
        """Write the data, then the index with the new entry."""
        entries = self._load_index()
        taken = {name for name, _ in entries.values()}
        fresh = (name for n in itertools.count(1) if (name := self._data_name(n)) not in taken)
        name = entries[key][0] if key in entries else next(fresh)
        digest = write_sealed(Path(self._data_path(name)), self._dump(data))
        self._save_index({**entries, key: (name, digest)})

    def load(self, key: Any) -> Any:
        name, digest = self._load_index().get(key, (None, None))
        data = None if name is None else read_sealed(Path(self._data_path(name)), digest)
        return None if data is None else pickle.loads(data)

    def _load_index(self) -> dict[Any, tuple[str, str]]:
        data = read_sealed(Path(self._index_path))
        if data is None:
            return {}
        stream = io.BytesIO(data)
        if pickle.load(stream) != self._version:  # the rest may be unreadable to this version
            return {}
        try:
            stamp, entries = pickle.load(stream)
        except _OUTDATED:
            return {}
        return entries if stamp == self._source_stamp else {}

    def _save_index(self, entries: dict[Any, tuple[str, str]]) -> None:
        content = self._dump((self._source_stamp, entries))
        write_sealed(Path(self._index_path), pickle.dumps(self._version) + content)


class CheckedCache(FunctionCache):
    """The cache of one function: what cannot be loaded is compiled; if it cannot be kept, a line says so."""

    _impl_class = _Results

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        own = self._cache_file
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, own._source_stamp)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled function, or ``None`` where it has to be compiled."""
        try:
            make_own(Path(self._cache_path))
            return super().load_overload(signature, target)
        except OSError as error:
            self._tell(error)
        except _OUTDATED:
            pass
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled; if that fails, say so and go on."""
        try:
            super().save_overload(signature, result)
        except OSError as error:
            self._tell(error)

    def _tell(self, error: OSError) -> None:
        tell_not_kept(Path(self._cache_path).parent, error)


def kept_on_disk(function: Callable[..., Any], signature: Any = None, **options: Any) -> Any:
    """``njit(signature, cache=True, **options)(function)`` with the checked cache.

    ``signature``: compile for these types now, and for no others; without one, when first called.
    """
    dispatcher: Any = njit(**options)(function)
    dispatcher._cache = CheckedCache(function)
    if signature is not None:
        with typeinfer.register_dispatcher(dispatcher):
            dispatcher.compile(signature)
            dispatcher.disable_compile()
    return dispatcher


def compiled(function: F) -> F:
    """Return ``function`` compiled at its first call; ``.py_func`` of the result is the plain one."""
    return cast(F, kept_on_disk(function))
