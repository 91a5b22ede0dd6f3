"""The server's process: ``python -m nona.app.server.process APP.py [options of Streamlit]``.

Signal handlers are set before Streamlit is imported, which takes a second. So ``nona app`` ends in order at
any time.
"""

from __future__ import annotations

import sys

from nona.app.server.ending import end_on_signals


def main() -> None:
    """Serve until a signal comes."""
    end_on_signals()
    from streamlit.web.cli import main as streamlit

    streamlit(["run", *sys.argv[1:]], prog_name="nona app")


if __name__ == "__main__":
    main()
