"""Progress of a long command on one line of the terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY_S = 0.1  # a line with the same text is rewritten no more often
WIDTH = 60


class ProgressLine:
    """Rewrites one line of standard error; silent where that is no terminal, or with ``quiet``."""

    def __init__(self, quiet: bool = False, stream: Any = None) -> None:
        found = sys.stderr if stream is None else stream
        self._stream = None if quiet or not found.isatty() else found
        self._began, self._last, self._text, self._open = time.monotonic(), 0.0, "", False

    @property
    def shown(self) -> bool:
        """Whether anything is written."""
        return self._stream is not None

    def tell(self, text: str, fraction: float | None = None) -> None:
        """Write what is done now, after its share of the work, or after the seconds that have passed."""
        now = time.monotonic()
        done = fraction is not None and fraction >= 1
        fresh = now - self._last >= EVERY_S or text != self._text or done
        if self._stream is None or not fresh:
            return
        self._last, self._text, self._open = now, text, not done
        head = f"{now - self._began:5.0f} s" if fraction is None else f"{fraction:6.1%}"
        end = "\n" if done else ""
        print(f"\r{head}  {text:<{WIDTH}}", end=end, file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line, so that what follows begins on a new one."""
        if self._open and self._stream is not None:
            print(file=self._stream, flush=True)
        self._open = False
