"""Python's side of the drawn search: its steps go in, nothing comes out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from nona.report.figures.style import BAD, GOOD, PALETTE
from nona.results.serverless.search import SearchSteps
from nona.ui.widgets.component import declare

_component = declare(Path(__file__).parent, "searchview")


def search_view(key: str, search: SearchSteps) -> None:
    """Draw the search; the reader goes through its steps in the browser."""
    data = search.to_json()
    mark = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    colours = {"path": PALETTE[0], "best": GOOD, "time": BAD, "cost": PALETTE[2]}
    _component(key=key, data={**data, "sig": mark, "colours": colours})
