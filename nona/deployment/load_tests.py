"""Load tests: tables of perf_analyzer and model_analyzer, results of AIPerf and genai-perf.

Source: triton-inference-server/perf_analyzer, src/report_writer.cc (columns in microseconds);
ai-dynamo/aiperf, export models.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nona.core.errors import DeploymentError
from nona.deployment.facts import Ledger, text_of
from nona.deployment.files import GivenFile
from nona.deployment.found import Found, FoundLoad, FoundTimes
from nona.deployment.located import Tree
from nona.models.cost.measured import LOW_LOAD

_PARTS = ("Server Compute Input", "Server Compute Infer", "Server Compute Output")
MOST_RECORDS = 500_000
LOW = 0.5
"""Load below which clocks may have gone down: assumed."""


@dataclass(frozen=True, slots=True)
class _Row:
    cells: Mapping[str, str]
    place: str

    def us(self, name: str) -> float | None:
        return self.number(name)

    def number(self, name: str) -> float | None:
        """Return a number; one by GPU (``uuid:0.61;``) is the first."""
        text = self.cells.get(name, "").rstrip(";").rpartition(":")[2].split(";")[0]
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0 <= value < 1e15:
            raise DeploymentError(
                f"{self.place}: {name}: {text[:40]!r} must be a number of at least 0; correct it."
            )
        return value

    @property
    def step_s(self) -> float:
        return sum(self.us(part) or 0.0 for part in _PARTS) * 1e-6


def _blocks(file: GivenFile) -> list[tuple[str, list[_Row]]]:
    """Return the tables of a file by the model that stands above them; the first has no name."""
    blocks: list[tuple[str, list[_Row]]] = []
    header: list[str] = []
    name = ""
    for number, line in enumerate((file.text or "").split("\n"), 1):
        try:
            cells = next(csv.reader([line]), [])
        except csv.Error as error:
            raise DeploymentError(f"{file.name}:{number}: no CSV ({error}); correct it.") from None
        if not any(c.strip() for c in cells):
            header = []
        elif not header and len(cells) == 1:
            name = cells[0].strip()
        elif not header:
            header = [c.strip() for c in cells]
            blocks.append((name, []))
        else:
            blocks[-1][1].append(_Row(dict(zip(header, cells, strict=False)), f"{file.name}:{number}"))
    return [(name, rows) for name, rows in blocks if rows]


def perf_analyzer(file: GivenFile, ledger: Ledger) -> Found:
    """Return times and load of a table of perf_analyzer; the batch is asked, as no column has it."""
    found = Found()
    stem = PurePosixPath(file.name).stem
    blocks = _blocks(file)
    composing = [(name, rows) for name, rows in blocks if name]
    for name, rows in blocks:
        first = rows[0]
        model, _, version = name.partition(":")
        model = model or ("" if composing else _model_of(file, stem, ledger))
        label = model or stem
        if not name:
            found += Found(loads=tuple(_checks(rows, model, label, ledger)))
        if composing and not name:
            continue
        step_s = first.step_s
        if step_s <= 0:
            raise DeploymentError(
                f"{first.place}: the columns Server Compute … are missing or 0; take them along."
            )
        batch = ledger.number(
            f"{stem}.batch", f"inputs of a request in {file.name} (-b)", f"{file.name}:1", "count", 1
        )
        ledger.read(
            f"{label}: step{'' if batch is None else f' of a batch of {batch:g}'}",
            step_s,
            first.place,
            "time",
        )
        _busy(label, first, batch or 1, ledger)
        if model and batch is not None:
            times = FoundTimes(model, {int(batch): step_s}, first.place, version)
            found += Found(times=(times,))
    return found


def _busy(label: str, row: _Row, batch: float, ledger: Ledger) -> None:
    """Note how busy the model was while its time was measured, and what that means where it was not."""
    if seen := row.number("Inferences/Second"):
        load = seen / batch * row.step_s
        note = f"; {LOW_LOAD}" if load < LOW else ""
        ledger.read(f"{label}: load while it was measured", f"{100 * load:.3g} %{note}", row.place)


def _model_of(file: GivenFile, stem: str, ledger: Ledger) -> str:
    answer = ledger.ask(f"{stem}.model", f"model that {file.name} measured", f"{file.name}:1")
    return str(answer or "")


def _checks(rows: Sequence[_Row], model: str, label: str, ledger: Ledger) -> list[FoundLoad]:
    """Note what each row lets one check: the law of a closed loop, or the wait of even arrivals."""
    loads = []
    for row in rows:
        users, rate, seen = (row.number(k) for k in ("Concurrency", "Request Rate", "Inferences/Second"))
        queue, p50 = row.us("Server Queue"), row.us("p50 latency")
        if users and seen:
            law = users / seen
            against = f", p50 measured {text_of(p50 * 1e-6, 'time')}" if p50 else ""
            ledger.read(
                f"{label}: {users:g} users over {seen:g}/s", f"{law * 1e3:.3g} ms{against}", row.place
            )
            if users == users // 1 and users >= 1:
                loads.append(FoundLoad(model, row.place, concurrency=int(users)))
        elif rate:
            ledger.read(f"{label}: rate", rate, row.place, "rate")
            if queue is not None:
                _even(label, rate, row, queue * 1e-6, ledger)
            if (busy := row.number("Avg GPU Utilization")) is not None:
                ledger.read(f"{label}: GPU busy", f"{100 * busy:.3g} %", row.place)
            loads.append(FoundLoad(model, row.place, rate=rate))
    return loads[-1:]


def _even(label: str, rate: float, row: _Row, queue_s: float, ledger: Ledger) -> None:
    """Note the wait, and whether Poisson arrivals would have waited longer (M/D/1)."""
    ledger.read(f"{label}: wait in the queue", queue_s, row.place, "time")
    load = rate * row.step_s
    wait_s = load * row.step_s / (2 * (1 - load)) if load < 1 else float("inf")
    if queue_s < wait_s / 2:
        ledger.read(
            f"{label}: arrivals",
            f"even or batched: Poisson ones would wait {wait_s * 1e3:.3g} ms at a load of {load:.2g} (M/D/1)",
            row.place,
        )


def model_analyzer(file: GivenFile, ledger: Ledger) -> None:
    """Note throughput by number of instances, and what more instances gave."""
    best: dict[str, dict[int, float]] = {}
    for _, rows in _blocks(file):
        for row in rows:
            model = row.cells.get("Model", "")
            group = row.cells.get("Instance Group", "")
            seen = row.number("Throughput (infer/sec)")
            if not model or seen is None:
                continue
            ledger.read(f"{model}: throughput with instances {group or '?'}", seen, row.place, "rate")
            count, _, kind = group.partition(":")
            if kind == "GPU" and count.isdecimal() and len(count) < 4 and seen > 0:
                best.setdefault(model, {})[int(count)] = seen
    for model, by_count in best.items():
        if 1 in by_count:
            speeds = [f"{by_count[n] / by_count[1] / n:.3g}" for n in sorted(by_count)]
            counts = ", ".join(map(str, sorted(by_count)))
            ledger.read(
                f"{model}: speed of each of {counts} instances beside others",
                ", ".join(speeds),
                f"{file.name}:1",
            )


def aiperf(tree: Tree, ledger: Ledger) -> Found:
    """Return users and lengths of a load test of a language model; its latencies stand to compare."""
    names = (
        tree.entries("input_config", "endpoint", "model_names") if "input_config" in tree.mapping() else []
    )
    model = str(names[0])[:200] if names else PurePosixPath(tree.file).stem
    users = tree.whole("input_config", "loadgen", "concurrency", least=1, most=100_000)
    rate = tree.number("request_throughput", "avg")
    if rate:
        ledger.read(f"{model}: requests done", rate, tree.place_of("request_throughput", "avg"), "rate")
    if users:
        ledger.read(f"{model}: users", str(users), tree.place_of("input_config", "loadgen", "concurrency"))
    if users and rate and (mean := tree.number("request_latency", "avg")) is not None:
        ledger.read(f"{model}: {users} users over {rate:g}/s",
                    f"{users / rate:.3g} s, measured {_s(tree, mean)}",
                    tree.place_of("request_latency", "avg"))  # fmt: skip
    for metric, what in (("time_to_first_token", "ttft"), ("inter_token_latency", "tpot")):
        for percentile in ("avg", "p99"):
            if (value := tree.number(metric, percentile)) is not None:
                place = tree.place_of(metric, percentile)
                ledger.read(f"{model}: {what}, {percentile}", _s(tree, value, metric), place)
    tokens: dict[str, float] = {}
    for key, metric in (("input", "input_sequence_length"), ("output", "output_sequence_length")):
        mean, deviation = tree.number(metric, "avg"), tree.number(metric, "std")
        if mean:
            tokens[key], tokens[f"{key}_cv"] = mean, (deviation or 0.0) / mean
            ledger.read(f"{model}: {key} tokens", f"{{mean: {mean:.6g}, cv: {tokens[f'{key}_cv']:.2g}}}",
                        tree.place_of(metric, "avg"))  # fmt: skip
    load = FoundLoad(model, tree.place_of(), rate=None if users else rate, concurrency=users, tokens=tokens)
    return Found(loads=(load,))


def _s(tree: Tree, value: float, metric: str = "request_latency") -> str:
    unit = tree.text(metric, "unit")
    factor = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "ns": 1e-9}.get(unit, 1e-3)
    return text_of(value * factor, "time")


def aiperf_records(file: GivenFile, ledger: Ledger) -> tuple[Found, dict[str, bytes]]:
    """Return the requests of a JSONL of records as a trace, a CSV of arrivals and tokens."""
    rows: list[tuple[float, int, int]] = []
    for number, line in enumerate((file.text or "").split("\n"), 1):
        if not line.strip():
            continue
        place = f"{file.name}:{number}"
        if len(rows) >= MOST_RECORDS:
            raise DeploymentError(f"{place}: more than {MOST_RECORDS:,} requests; give fewer.")
        try:
            record = json.loads(line)
            start = record["metadata"]["request_start_ns"]
            metrics = record["metrics"]
            lengths = [metrics[k]["value"] for k in ("input_sequence_length", "output_sequence_length")]
            rows.append((float(start) * 1e-9, int(lengths[0]), int(lengths[1])))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            ledger.not_used("a record without start or lengths", line[:60], place)
    if not rows:
        raise DeploymentError(
            f"{file.name}:1: no record has metadata.request_start_ns and lengths; check the file."
        )
    rows.sort()
    begin = rows[0][0]
    text = "arrival_s,input_tokens,output_tokens\n" + "".join(
        f"{start - begin:.6f},{max(1, i)},{max(1, o)}\n" for start, i, o in rows
    )
    name = f"{PurePosixPath(file.name).stem}.csv"
    ledger.read("requests of a trace", str(len(rows)), f"{file.name}:1")
    model = PurePosixPath(file.name).stem
    return Found(loads=(FoundLoad(model, f"{file.name}:1", trace=name),)), {name: text.encode()}
