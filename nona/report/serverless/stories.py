"""The dispatch of the first batches to their invokers: rows from the records of a run."""

from __future__ import annotations

from nona.results.serverless.dispatch import RefusalRow, StoryRow
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.run import DispatchStory, ServerlessRecords


def story_rows(records: ServerlessRecords, system: ServerlessSystem) -> tuple[StoryRow, ...]:
    """One row for each recorded dispatch, with the earlier attempts and the reasons for refusal."""
    return tuple(_row(story, records, system) for story in records.stories)


def _row(story: DispatchStory, records: ServerlessRecords, system: ServerlessSystem) -> StoryRow:
    b, k = records.batches, story.batch
    application = system.applications[int(b.application[k])]
    return StoryRow(
        application=application.name,
        stage=application.stage_names[int(b.stage[k])],
        dispatched_s=float(b.dispatched_s[k]) - records.sums.start_s,
        waited_s=float(b.dispatched_s[k] - b.queued_s[k]),
        jobs=int(b.jobs[k]),
        invoker=int(b.invoker[k]),
        rule=story.rule,
        configuration=system.space[int(b.configuration[k])].text,
        cold=bool(b.cold[k]),
        forced=bool(b.forced[k]),
        ranked=tuple(system.space[c].text for c in story.ranked),
        refusals=tuple(
            RefusalRow(
                configuration=system.space[r.configuration].text, invoker=r.invoker, rule=r.rule, why=r.why
            )
            for r in story.refusals
        ),
    )


def story_line(row: StoryRow) -> str:
    """A dispatch in one sentence.

    >>> story_line(StoryRow(application="a", stage="deblur", jobs=2, configuration="2 jobs, 1 vCPU, 1 vGPU",
    ...     invoker=3, rule="home", ranked=(), refusals=(), cold=False, forced=False, dispatched_s=1.0,
    ...     waited_s=0.0))
    '2 jobs of deblur went to node 3 (home) at once, on 2 jobs, 1 vCPU, 1 vGPU, warm'
    """
    jobs = f"{row.jobs} job{'s' if row.jobs != 1 else ''} of {row.stage}"
    n = len(row.refusals)
    after = f"after {n} refusal{'s' if n != 1 else ''}" if n else "at once"
    start = "with a cold start" if row.cold else "warm"
    forced = ", forced after too many attempts" if row.forced else ""
    return f"{jobs} went to node {row.invoker} ({row.rule}) {after}, on {row.configuration}, {start}{forced}"
