"""``nona`` and ``python -m nona``: the command line, which ends in one line whenever it is interrupted."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def main() -> int:
    """Run the command line; returns the exit status.

    Libraries that are interrupted while they are imported may raise an error of their own instead.
    """
    usual = signal.signal(signal.SIGINT, _leave)
    from nona.cli.main import main as command_line

    interrupts: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt if usual is signal.default_int_handler else usual)
    try:
        return command_line()
    except Exception:
        if not interrupts:
            raise
        print("nona: interrupted", file=sys.stderr)
        return INTERRUPTED


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"nona: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
