"""Writes the figures of the shipped serverless study into a document.

``python -m nona.study.serverless.over.page docs/serverless.md``
"""

from __future__ import annotations

import sys
from pathlib import Path

from nona.report.serverless.over.page import with_study
from nona.study.shipped import shipped_serverless


def main(path: Path) -> None:
    """Replace the figures in the file at ``path``."""
    text = with_study(path.read_text(encoding="utf-8"), shipped_serverless())
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
