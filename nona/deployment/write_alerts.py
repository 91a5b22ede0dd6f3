"""Alert rules of Prometheus for a scenario's targets and traffic, and the load tests that would refute it.

Burn rates: B. Beyer and others, The Site Reliability Workbook, 2018, chapter 5: 14.4 times the budget over an
hour uses 2 % of that of 30 days. Buckets: vLLM, vllm/v1/metrics/loggers.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from nona.core.errors import DeploymentError
from nona.core.units import quantity_text
from nona.deployment.writing import Standing, names_of, plain_name
from nona.scenario.language import LanguageRow, LengthSpec
from nona.scenario.schema import WorkloadRow

BUCKETS: Mapping[str, tuple[float, ...]] = {
    "time_to_first_token": (
        0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
        40.0,
    ),
    "inter_token_latency": (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5),
    "e2e_request_latency": (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
}  # fmt: skip
_TARGETS = {"ttft": "time_to_first_token", "tpot": "inter_token_latency", "e2e": "e2e_request_latency"}
BUDGET = 0.01
FAST, SLOW = 14.4, 6.0


def alert_files(standing: Standing) -> dict[str, str]:
    """Return the rules and the load test.

    Raises ``DeploymentError`` where no row has a rate or a target.
    """
    rules = [*_task_rules(standing), *_language_rules(standing)]
    if not rules:
        raise DeploymentError(
            "workload: no row has an SLO or a rate, so there is nothing to watch; give one."
        )
    document = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": f"nona-{plain_name(standing.scenario.name)}"},
        "spec": {"groups": [{"name": "nona", "rules": rules}]},
    }
    return {
        "prometheus-rule.yaml": standing.comment + yaml.safe_dump(document, sort_keys=False, width=160),
        "load_test.sh": f"#!/bin/sh\n{standing.comment}" + "\n".join([*_load_tests(standing), ""]),
    }


def _budget(standing: Standing) -> float:
    hit = standing.scenario.plan.hit if standing.scenario.plan else None
    return max(1e-4, 1 - hit) if isinstance(hit, float) else BUDGET


def _alert(name: str, expression: str, wait: str, severity: str, why: str) -> dict[str, Any]:
    return {
        "alert": name, "expr": expression, "for": wait, "labels": {"severity": severity},
        "annotations": {"summary": why},
    }  # fmt: skip


def _traffic(name: str, expression: str, rate: float, standing: Standing) -> dict[str, Any]:
    most = rate * (standing.headroom or 1.0)
    how = "seen to keep all targets" if standing.headroom else "planned for"
    why = f"More than the {most:.6g}/s that were {how}."
    return _alert(f"TrafficBeyondPlan{_title(name)}", f"{expression} > {most:.6g}", "15m", "ticket", why)


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in plain_name(name).split("-"))


def _task_rules(standing: Standing) -> Iterator[dict[str, Any]]:
    scenario = standing.scenario
    for row, name in zip(scenario.workload, names_of(scenario.labels), strict=True):
        if row.rate:
            rate = f'sum(rate(nv_inference_request_success{{model="{name}"}}[15m]))'
            yield _traffic(name, rate, row.rate, standing)
        if row.slo:
            us = f"{row.slo * 1e6:.6g}"
            yield _alert(
                f"LaterThanPlanned{_title(name)}",
                f'max(nv_inference_request_summary_us{{model="{name}",quantile="0.99"}}) > {us}',
                "5m", "page",
                f"p99 of {name} is above {quantity_text(row.slo, 'time')}; needs summary_latencies=true.",
            )  # fmt: skip


def _language_rules(standing: Standing) -> Iterator[dict[str, Any]]:
    scenario, budget = standing.scenario, _budget(standing)
    rates: dict[str, float] = {}
    for row in scenario.language:
        rates[row.llm.model] = rates.get(row.llm.model, 0.0) + (row.rate or 0.0)
    for row, name in zip(scenario.language, names_of(scenario.language_labels), strict=True):
        model = row.llm.model
        of = f'{{model_name=~".*{model}.*"}}'
        if (rate := rates.pop(model, 0.0)) > 0:  # once for all rows of a model
            yield _traffic(name, f"sum(rate(vllm:request_success_total{of}[15m]))", rate, standing)
        for key, metric in _TARGETS.items():
            target = getattr(row.slo, key)
            bounds = [b for b in BUCKETS[metric] if target and b <= target]
            if not bounds:
                continue
            bound = bounds[-1]
            record = f"nona:{plain_name(name).replace('-', '_')}_{key}_late:ratio_rate"
            counted = f'model_name=~".*{model}.*"'
            for window in ("5m", "30m", "1h", "6h"):
                late = (
                    f'1 - sum(rate(vllm:{metric}_seconds_bucket{{le="{bound:g}",{counted}}}[{window}])) / '
                    f"sum(rate(vllm:{metric}_seconds_count{{{counted}}}[{window}]))"
                )
                yield {"record": f"{record}{window}", "expr": late}
            exact = "" if bound == target else f" (the next lower bound of the buckets; asked {target:g} s)"
            for factor, short, long, severity in ((FAST, "5m", "1h", "page"), (SLOW, "30m", "6h", "ticket")):
                limit, speed = f"{factor:g} * {budget:g}", "Fast" if severity == "page" else "Slowly"
                yield _alert(
                    f"{key.capitalize()}BudgetBurns{_title(name)}{speed}",
                    f"{record}{short} > {limit} and {record}{long} > {limit}", "2m", severity,
                    f"More than {100 * budget:g} % of requests are later than {bound:g} s{exact}.",
                )  # fmt: skip


def _load_tests(standing: Standing) -> Iterator[str]:
    scenario = standing.scenario
    for row, label, name in zip(scenario.workload, scenario.labels, names_of(scenario.labels), strict=True):
        yield f"# {label}: {_must_show(row)}"
        yield " ".join(["perf_analyzer", "-m", name, "-u", "HOST:8001", "-i", "grpc", *_perf_arguments(row)])
    for asked, label in zip(scenario.language, scenario.language_labels, strict=True):
        yield f"# {label}: {_language_must_show(asked)}"
        yield " ".join(
            ["aiperf", "profile", "--model", asked.llm.model, "--url", "HOST:8000", *_aiperf_arguments(asked)]
        )


def _perf_arguments(row: WorkloadRow) -> list[str]:
    users = row.concurrency
    if users:
        load = ["--concurrency-range", str(users)]
    else:
        drawn = "constant" if row.arrivals.process == "deterministic" else "poisson"
        load = ["--request-rate-range", f"{row.rate:g}", "--request-distribution", drawn]
    return [*load, "-b", str(row.batch), "--percentile", "99", "-f", "measured.csv", "--verbose-csv"]


def _must_show(row: WorkloadRow) -> str:
    if row.slo is None:
        return "no SLO; compare the latencies with a simulation"
    return (
        f"p99 latency of at most {quantity_text(row.slo, 'time')} at {row.rate:g}/s, or the plan is refuted"
    )


def _aiperf_arguments(row: LanguageRow) -> list[str]:
    arguments = ["--endpoint-type", "chat", "--streaming"]
    if row.concurrency:
        arguments += ["--concurrency", str(row.concurrency)]
    elif row.rate:
        arguments += ["--request-rate", f"{row.rate:g}", "--request-rate-mode", "poisson"]
    if row.llm.tokens is not None:
        for key, length in (("input", row.llm.tokens.input), ("output", row.llm.tokens.output)):
            name = "synthetic-input-tokens" if key == "input" else "output-tokens"
            mean, deviation = _moments(length)
            arguments += [f"--{name}-mean", f"{mean:g}", f"--{name}-stddev", f"{deviation:g}"]
    return arguments


def _moments(length: LengthSpec) -> tuple[float, float]:
    if length.mean is not None:
        return round(length.mean), round(length.mean * length.cv)
    mean = sum(length.values) / len(length.values)
    return round(mean), round((sum((v - mean) ** 2 for v in length.values) / len(length.values)) ** 0.5)


def _language_must_show(row: LanguageRow) -> str:
    parts = [
        f"p99 of {what} at most {quantity_text(value, 'time')}"
        for what, value in (
            ("time to first token", row.slo.ttft), ("time between tokens", row.slo.tpot),
            ("request latency", row.slo.e2e),
        )
        if value
    ]  # fmt: skip
    return f"{', '.join(parts)}, or the plan is refuted" if parts else "no SLO; compare with a simulation"
