"""What the page asks of its training jobs beyond the scenario."""

from __future__ import annotations

from nona.ui.tasks.asked import Asked


class OneMoreAsked(Asked):
    """One more GPU of each type, under this policy."""

    policy: str
