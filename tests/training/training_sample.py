"""A small outcome of a training cluster, by hand: three jobs, two GPUs, two policies."""

import numpy as np

from nona.core.document import About
from nona.training import results as training
from nona.training.metrics import jct_of
from tests.core.filled import filled

TYPES = {"k80": 1, "v100": 1}
NAMES = ("a", "b", "c")
ROUND_S = 360.0
MADE = {"hash": "abc", "version": "0.1.0", "made": "2026-11-25 12:00 UTC"}
ABOUT = filled(About, name="Three jobs", jobs=3, replications=2, **MADE)


def job(name, jct_s, rho):
    kinds = {"name": name, "model": "A3C", "kind": "training", "workers": 1, "measured": True}
    return filled(training.JobOutcome, **kinds, jct_s=jct_s, rho=rho, cost_usd=1.0, preemptions=1)


def policy(jcts, rhos, cost_usd):
    mean = sum(jcts) / len(jcts)
    summary = jct_of(np.array(jcts, dtype=float))
    rho = training.RhoSummary(mean=sum(rhos) / len(rhos), worst=max(rhos))
    solved = {"decisions": 2, "decision_s": 0.001, "decision_most_s": 0.002, "worst_gap": 1e-9}
    return filled(
        training.TrainingPolicyResult,
        jct_s=summary.model_copy(update={"ci95": (0.9 * mean, 1.1 * mean)}),
        makespan_s=max(jcts),
        utilization=0.9,
        rho=rho,
        cost_usd=cost_usd,
        preemptions=3.0,
        received_error=0.031,
        ideal_jct_s=0.9 * mean,
        jobs=tuple(job(n, t, r) for n, t, r in zip(NAMES, jcts, rhos, strict=True)),
        **solved,
    )


def priority(number, gpu, share, ran):
    why = "the highest priority" if ran else "no GPU was left"
    times = {"received_s": 180.0, "type_s": 540.0, "deficit_s": 0.0}
    return training.PriorityRow(
        jobs=(number,), gpu=gpu, share=share, priority=3 * share, ran=ran, why=why, **times
    )


def trace():
    """Six rounds: a has the V100 throughout, b the K80 for four rounds, b and c share it for two."""
    stays = tuple(
        training.GpuInterval(jobs=jobs, gpu=gpu, gpus=(0,), start_s=first * ROUND_S, end_s=end * ROUND_S)
        for jobs, gpu, first, end in (((0,), "v100", 0, 6), ((1,), "k80", 0, 4), ((1, 2), "k80", 4, 6))
    )
    shares = ((0, "v100", 1.0, True), (1, "k80", 0.7, True), (2, "k80", 0.3, False))
    priorities = tuple(priority(*row) for row in shares)
    rounds = tuple(
        training.RoundFacts(
            number=k,
            start_s=k * ROUND_S,
            end_s=(k + 1) * ROUND_S,
            running=2 if k < 4 else 3,
            waiting=1 if k < 4 else 0,
            priorities=priorities,
        )
        for k in range(6)
    )
    got = (1.0, 0.65, 0.35)
    received = tuple(
        training.TimeShares(job=k, planned={gpu: share}, received={gpu: got[k]})
        for k, gpu, share, _ in shares
    )
    return training.PolicyTrace(stays=stays, rounds=rounds, received=received)


def outcome():
    policies = {
        "max-min-fairness": policy([3600.0, 7200.0, 10_800.0], [0.5, 0.8, 1.2], 12.0),
        "max-min-fairness-agnostic": policy([7200.0, 10_800.0, 14_400.0], [0.9, 1.0, 1.6], 10.0),
    }
    names = {"name": "Three jobs", "gpus": TYPES, "throughputs": "gavel", "notes": ("A note.",)}
    of = {"jobs": 3, "measured": (0, 2), "replications": 2, "round_s": ROUND_S, "reallocation_s": 1920.0}
    setting = filled(training.TrainingSetting, **names, **of)
    of = {"checks": {"capacity": True}, "seconds": 0.1, "setting": setting}
    report = filled(training.TrainingReport, policies=policies, **of)
    traces = {name: trace() for name in policies}
    return training.TrainingOutcome(about=ABOUT, report=report, job_names=NAMES, types=TYPES, traces=traces)


def one_more():
    def row(gpu, mean_s, price):
        rest = {"makespan_s": 2 * mean_s, "worst_rho": 1.0, "cost_usd": 5.0}
        rest |= {"price_hour": price, "ci95": (mean_s - 100, mean_s + 100)}
        return training.OneMoreRow(gpu=gpu, mean_jct_s=mean_s, **rest)

    rows = (row("k80", 9000.0, 0.45), row("v100", 6000.0, 2.48))
    return training.OneMoreReport(policy="fifo", gpus=TYPES, base=row("", 10_000.0, None), rows=rows)
