"""How each policy used what only some scenarios model: links that transfers share."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.means import mean_text
from nona.report.text import or_dash, share_text
from nona.results.serverless.outcome import PolicyOutcome
from nona.units import format_time


def transfer_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The transfers of each policy over a network that they share; none where they do not."""
    return [
        {
            "policy": name,
            "mean transfer": mean_text(used.mean_s, format_time),
            "of it waiting": mean_text(used.wait_s, format_time),
            "core": or_dash(used.core_utilization, share_text),
            "busiest link": used.busiest_link,
            "its use": or_dash(used.busiest_utilization, share_text),
        }
        for name, p in policies.items()
        for used in [p.transfers]
        if used is not None
    ]
