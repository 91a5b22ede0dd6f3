"""Why the winner wins, in a sentence: arithmetic on the run.

Parts of a mean JCT add up to it, so that what one scheduler's jobs take longer is the sum of what they take
longer in each part.
"""

from __future__ import annotations

from collections.abc import Mapping

from nona.core.tables import share_text
from nona.core.units import format_time
from nona.queries.report.findings import not_told_apart_from, reference_for, shortest
from nona.queries.results import Differences, PartName, Schedulers

LONGER: Mapping[PartName, str] = {
    "compute": "computing takes {} longer per job",
    "transfer": "transfers take {} longer per job",
    "link_wait": "a job waits {} longer for links",
    "server_wait": "a job waits {} longer for servers",
    "own_wait": "a job waits {} longer for its own tasks on the same executor",
    "fill_wait": "a job waits {} longer for batches to fill",
}


def scheduler_advice(schedulers: Schedulers, differences: Differences) -> str:
    """Return the part of the mean JCT that makes most of the winner's lead.

    Empty where none has a clear lead.
    """
    best = shortest(schedulers)
    other = best and reference_for(schedulers, best)
    if best is None or not other or not_told_apart_from(best, differences):
        return ""
    winner, loser = schedulers[best], schedulers[other]
    own = winner.parts_s.by_name()
    more = {part: (value or 0.0) - (own[part] or 0.0) for part, value in loser.parts_s.by_name().items()}
    most, gap = max(more, key=lambda p: more[p]), (loser.jct_s.mean or 0.0) - (winner.jct_s.mean or 0.0)
    if more[most] <= 0:
        return ""
    longer = f"Under {other} {LONGER[most].format(format_time(more[most]))} than under {best}"
    if more[most] > 1.005 * gap:  # the loser saves elsewhere
        return f"{longer}, but all other parts together are {format_time(more[most] - gap)} shorter."
    return f"{longer}, which is {share_text(more[most] / gap)} of the difference."
