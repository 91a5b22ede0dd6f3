"""The live charts read what is sent to them: a field that is not there draws nothing, without an error."""

import re
from pathlib import Path

from nona import import_root
from nona.queries.chart_data import LiveLine

DRAWN = Path(import_root()) / "nona" / "app" / "components" / "livechart"
OF_THE_PAGE = {"name", "style"}  # put beside the line by the script itself


def test_scripts_read_fields_that_a_line_has():
    read = {name for file in DRAWN.glob("*.js") for name in re.findall(r"\bs\.([a-z_]+)", file.read_text())}
    assert {"counts", "jobs", "waiting"} <= read
    assert read - OF_THE_PAGE <= set(LiveLine.model_fields)
