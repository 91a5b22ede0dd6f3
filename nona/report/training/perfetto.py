"""Who had which GPU, as a trace that Perfetto opens: a process for each type, a thread for each GPU."""

from __future__ import annotations

from nona import __version__
from nona.report.training.words import job_label
from nona.results.simulation.trace import Trace, TraceAbout, TraceEvent, TraceJobs
from nona.results.training.outcome import TrainingOutcome

MOST_EVENTS = 100_000
MICRO = 1e6


def stays_trace(outcome: TrainingOutcome) -> Trace:
    """The stays of the first replication of every policy; beyond ``MOST_EVENTS`` the latest are left out."""
    events: list[TraceEvent] = []
    told: dict[str, TraceJobs] = {}
    for place, (policy, trace) in enumerate(outcome.traces.items()):
        room = MOST_EVENTS // max(1, len(outcome.traces))
        slices: list[TraceEvent] = []
        shown: set[int] = set()
        for number, gpu in enumerate(sorted(outcome.types)):
            process = _process(outcome, place, number)
            events.append(_named("process_name", f"{policy}: {gpu}", process))
            events += [_named("thread_name", f"{gpu} {k}", process, k + 1) for k in range(outcome.types[gpu])]
        for stay in sorted(trace.stays, key=lambda s: (s.start_s, s.gpu, s.gpus)):
            if len(slices) + len(stay.gpus) > room:
                break
            process = _process(outcome, place, sorted(outcome.types).index(stay.gpu))
            shown.update(stay.jobs)
            slices += [
                TraceEvent(
                    ph="X",
                    name=" + ".join(job_label(outcome.job_names[j]) for j in stay.jobs),
                    cat="stay",
                    pid=process,
                    tid=gpu + 1,
                    ts=stay.start_s * MICRO,
                    dur=(stay.end_s - stay.start_s) * MICRO,
                )
                for gpu in stay.gpus
            ]
        events += slices
        told[policy] = TraceJobs(shown=len(shown), recorded=len({j for s in trace.stays for j in s.jobs}))
    return Trace(
        traceEvents=tuple(events),
        displayTimeUnit="ms",
        otherData=TraceAbout(
            producer=f"Nona Planner {__version__}",
            scenario=outcome.report.setting.name,
            jobs=told,
            events_at_most=MOST_EVENTS,
            note="First replication of each policy; consecutive rounds on the same GPUs are one slice.",
        ),
    )


def _process(outcome: TrainingOutcome, policy: int, gpu: int) -> int:
    return 1 + policy * len(outcome.types) + gpu


def _named(what: str, name: str, process: int, thread: int | None = None) -> TraceEvent:
    return TraceEvent(ph="M", name=what, pid=process, tid=thread, args={"name": name})
