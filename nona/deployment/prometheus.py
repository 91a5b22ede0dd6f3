"""Scrapes of Prometheus' text format as traffic, batches, queues, steps and KV blocks.

Counters of Triton are in microseconds of requests, those of vLLM in seconds; between scrapes only differences
count. Source: triton-inference-server/server, docs/user_guide/metrics.md; vLLM, docs/usage/metrics.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise

import numpy as np

from nona.core.errors import DeploymentError
from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Found, FoundLoad, FoundTimes

MOST_SAMPLES = 500_000
MOST_SCRAPES = 60
UNLIKE = 1.25
"""Largest mean batch over the smallest from which times grow by more than they vary: assumed."""
_SAMPLE = re.compile(r"([A-Za-z_:][\w:]{0,200})(?:\{(.*)\})?\s+(\S{1,60})(?:\s+(-?\d{1,20}))?\s*$", re.ASCII)
_LABEL = re.compile(r'\s*([A-Za-z_]\w{0,100})="((?:[^"\\]|\\.)*+)"\s*,?', re.ASCII)
_SUMMED = ("_total", "_sum", "_count", "_us", "_success", "_failure", "_bucket")


@dataclass(frozen=True, slots=True)
class Sample:
    """A value with its labels."""

    name: str
    labels: Mapping[str, str]
    value: float
    line: int
    milliseconds: float | None

    @property
    def model(self) -> str:
        """The model that it is of."""
        return self.labels.get("model", "") or self.labels.get("model_name", "")


def samples(file: GivenFile) -> list[Sample]:
    r"""Return the samples of a scrape.

    Raises ``DeploymentError`` with file and line for a line that is none.

    >>> from nona.deployment.files import file_of
    >>> samples(file_of("a.prom", b'# TYPE x counter\nx{model="a,b"} 3\n'))[0].value
    3.0
    """
    found = []
    for number, line in enumerate((file.text or "").split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _SAMPLE.match(text)
        value = _value(match[3]) if match else None
        if match is None or value is None:
            raise DeploymentError(
                f'{file.name}:{number}: {text[:60]!r} is no sample; write name{{label="…"}} value.'
            )
        labels = {m[1]: m[2] for m in _LABEL.finditer(match[2] or "")}
        found.append(Sample(match[1], labels, value, number, float(match[4]) if match[4] else None))
        if len(found) > MOST_SAMPLES:
            raise DeploymentError(
                f"{file.name}:{number}: more than {MOST_SAMPLES:,} samples; give one server's."
            )
    return found


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two scrapes; ``seconds`` between them are ``None`` where they are unknown."""

    name: str
    before: Sequence[Sample]
    after: Sequence[Sample]
    seconds: float | None

    def change(self, metric: str, model: str, **labels: str) -> float | None:
        """Return by how much a counter of a model grew, its versions and pods together."""
        ends = []
        for scrape in (self.before, self.after):
            of = [
                s
                for s in scrape
                if s.name == metric and s.model == model and labels.items() <= s.labels.items()
            ]
            ends.append(sum(s.value for s in of) if of else None)
        if ends[1] is None:
            return None
        grown = ends[1] - (ends[0] or 0.0)
        if not math.isfinite(grown):
            return None
        return grown

    def place(self, metric: str, model: str) -> str:
        line = next((s.line for s in self.after if s.name == metric and s.model == model), 1)
        return f"{self.name}:{line}"

    def rate(self, grown: float | None) -> float | None:
        return None if grown is None or not self.seconds else grown / self.seconds


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a pair of scrapes shows of a model: traffic, and the mean batch with the time of its step."""

    load: FoundLoad
    place: str
    batch: float | None = None
    step_s: float = 0.0


def scrapes(files: Sequence[GivenFile], ledger: Ledger) -> Found:
    """Return load and times that scrapes of one server show, each with the next; of one only constants."""
    if len(files) > MOST_SCRAPES:
        raise DeploymentError(f"{files[MOST_SCRAPES].name}:1: more than {MOST_SCRAPES} scrapes; give fewer.")
    read: list[_Scrape] = [(file, samples(file)) for file in files]
    file, last = read[0]
    if len(read) == 1:
        ledger.not_used(
            f"{file.name}: counters", "one scrape has no rates; give a second one", f"{file.name}:1"
        )
        return Found(blocks=_constant(file.name, last, ledger))
    read.sort(key=cmp_to_key(_later))
    pairs = [_pair(a, b, number, ledger) for number, (a, b) in enumerate(pairwise(read), 1)]
    file, last = read[-1]
    loads, times = [], []
    for model in sorted({s.model for s in last if s.name == "nv_inference_request_success"}):
        seen = [one for pair in pairs if (one := _triton(pair, model, ledger))]
        loads += _busiest([one.load for one in seen])
        times += _times(model, [one for one in seen if one.batch is not None], ledger)
    for model in sorted({s.model for s in last if s.name == "vllm:request_success_total"}):
        loads += _busiest([load for pair in pairs if (load := _vllm(pair, model, ledger))])
    return Found(times=tuple(times), loads=tuple(loads), blocks=_constant(file.name, last, ledger))


_Scrape = tuple[GivenFile, Sequence[Sample]]


def _later(a: _Scrape, b: _Scrape) -> int:
    """Return above 0 where ``a`` was taken after ``b``, below 0 where before."""
    return _grown(b[1], a[1]) - _grown(a[1], b[1])


def _busiest(loads: Sequence[FoundLoad]) -> list[FoundLoad]:
    """Return the load of the interval with the most traffic, which is what a plan must hold."""
    return [max(loads, key=lambda load: load.rate or 0.0)] if loads else []


def _times(model: str, seen: Sequence[_Seen], ledger: Ledger) -> list[FoundTimes]:
    """Return the times of batches: a line through intervals with unlike ones, else those that were seen."""
    if not seen:
        return []
    batches, steps_s = [one.batch or 1.0 for one in seen], [one.step_s for one in seen]
    place = seen[-1].place
    if max(batches) >= UNLIKE * min(batches):
        each_s, step_s = np.polyfit(np.array(batches), np.array(steps_s), 1).tolist()
        if each_s > 0 and step_s > 0:
            return [FoundTimes(model, {}, place, line=(step_s, each_s))]
        ledger.not_used(
            f"{model}: steps of unlike batches", "they do not grow with their batch as a + b·n", place
        )
    return [
        FoundTimes(
            model,
            {max(1, round(batch)): step_s for batch, step_s in zip(batches, steps_s, strict=True)},
            place,
        )
    ]


def _pair(a: _Scrape, b: _Scrape, number: int, ledger: Ledger) -> _Pair:
    (file_a, before), (file_b, after) = a, b
    _refuse_unlike(before, after, file_a, file_b)
    return _Pair(file_b.name, before, after, _seconds(file_a, before, file_b, after, number, ledger))


def _key(sample: Sample) -> tuple[str, tuple[tuple[str, str], ...]]:
    return sample.name, tuple(sorted(sample.labels.items()))


def _counts(sample: Sample) -> bool:
    return sample.name.endswith(_SUMMED) and "pending" not in sample.name  # which is a gauge


def _grown(a: Sequence[Sample], b: Sequence[Sample]) -> int:
    """Return how many counters are larger in ``b``."""
    before = {_key(s): s.value for s in a}
    return sum(s.value > before.get(_key(s), s.value) for s in b if _counts(s))


def _refuse_unlike(a: Sequence[Sample], b: Sequence[Sample], file_a: GivenFile, file: GivenFile) -> None:
    """Raise an error for scrapes of several servers, or of runs of one."""
    before = {_key(s): s.value for s in a}
    counters = [s for s in b if _counts(s)]
    if counters and not any(_key(s) in before for s in counters):
        raise DeploymentError(
            f"{file.name}:1: it has no counter of {file_a.name}; give scrapes of one server."
        )
    for sample in counters:
        if sample.value < before.get(_key(sample), sample.value):
            raise DeploymentError(
                f"{file.name}:{sample.line}: the counter {sample.name} fell: its server started anew between "
                "the scrapes; give two of one run."
            )


def _seconds(
    file_a: GivenFile,
    a: Sequence[Sample],
    file_b: GivenFile,
    b: Sequence[Sample],
    number: int,
    ledger: Ledger,
) -> float | None:
    """Return the time between scrapes: by their timestamps, by numbers in the files' names, or asked."""
    key = f"scrapes.interval{number if number > 1 else ''}"
    what = f"time between the scrapes {file_a.base} and {file_b.base}"
    stamps = [next((s.milliseconds for s in of if s.milliseconds is not None), None) for of in (a, b)]
    place = f"{file_b.name}:1"
    if stamps[0] is not None and stamps[1] is not None and stamps[1] > stamps[0]:
        seconds = (stamps[1] - stamps[0]) / 1000
        ledger.read(what, seconds, place, "time")
        return seconds
    numbers = [re.fullmatch(r"\D*(\d{1,9})\D*", f.base.rpartition(".")[0]) for f in (file_a, file_b)]
    clock = all(n and re.fullmatch(r"([01]\d|2[0-3])[0-5]\d", n[1]) for n in numbers)  # 1200 is noon, perhaps
    if numbers[0] and numbers[1] and not clock and int(numbers[1][1]) > int(numbers[0][1]):
        seconds = float(int(numbers[1][1]) - int(numbers[0][1]))
        return float(ledger.assume(f"{what}, by their names", seconds, place, "time", key))
    return ledger.number(key, what, place, "time")


def _triton(pair: _Pair, model: str, ledger: Ledger) -> _Seen | None:
    done = pair.change("nv_inference_request_success", model)
    if not done:
        return None
    place = pair.place("nv_inference_request_success", model)
    rate = pair.rate(done)
    if rate is not None:
        ledger.read(f"{model}: rate", rate, place, "rate")
    if (failed := pair.rate(pair.change("nv_inference_request_failure", model))) is not None:
        ledger.read(
            f"{model}: rejected or failed", failed, pair.place("nv_inference_request_failure", model), "rate"
        )
    count, runs = pair.change("nv_inference_count", model), pair.change("nv_inference_exec_count", model)
    each = max(1.0, count / done) if count else 1.0
    if each > 1.01:
        ledger.read(f"{model}: inputs of a request", f"{each:.4g}", pair.place("nv_inference_count", model))
    batch = count / runs / each if count and runs else None
    if batch is not None:
        ledger.read(f"{model}: mean batch", f"{batch:.4g}", pair.place("nv_inference_exec_count", model))
    queue = pair.change("nv_inference_queue_duration_us", model)
    wait_s = None if queue is None else queue * 1e-6 / done
    if wait_s is not None:
        at = pair.place("nv_inference_queue_duration_us", model)
        ledger.read(f"{model}: mean wait in the queue", wait_s, at, "time")
    load = FoundLoad(model, place, rate=rate, wait_s=wait_s, requests=max(1, int(done)), batch=batch or 1.0)
    parts = {
        p: pair.change(f"nv_inference_compute_{p}_duration_us", model) for p in ("input", "infer", "output")
    }
    step_s = sum(p or 0.0 for p in parts.values()) * 1e-6 / done
    if parts["infer"] is None:
        return _Seen(load, place)
    at = pair.place("nv_inference_compute_infer_duration_us", model)
    for name, total in parts.items():
        if total is not None:
            ledger.read(f"{model}: step, {name}", total * 1e-6 / done, at, "time")
    ledger.read(f"{model}: step, mean over requests", step_s, at, "time")
    if runs and pair.seconds:
        ledger.read(f"{model}: executors busy", f"{100 * runs * step_s / pair.seconds:.3g} %", at)
    return _Seen(load, at, max(1.0, batch or 1.0), step_s)


def _vllm(pair: _Pair, model: str, ledger: Ledger) -> FoundLoad | None:
    done = pair.change("vllm:request_success_total", model)
    if not done:
        return None
    place = pair.place("vllm:request_success_total", model)
    rate = pair.rate(done)
    if rate is not None:
        ledger.read(f"{model}: rate", rate, place, "rate")
    tokens: dict[str, float] = {}
    for key, metric in (("input", "vllm:prompt_tokens_total"), ("output", "vllm:generation_tokens_total")):
        if (total := pair.change(metric, model)) is not None:
            tokens[key] = total / done
            ledger.read(f"{model}: mean {key} tokens", f"{total / done:.4g}", pair.place(metric, model))
    for what, metric in (
        ("time to first token", "time_to_first_token"), ("time between tokens", "inter_token_latency"),
        ("time between tokens", "time_per_output_token"), ("time to last token", "e2e_request_latency"),
    ):  # fmt: skip
        total = pair.change(f"vllm:{metric}_seconds_sum", model)
        number = pair.change(f"vllm:{metric}_seconds_count", model)
        if total is not None and number:
            ledger.read(
                f"{model}: mean {what}",
                total / number,
                pair.place(f"vllm:{metric}_seconds_sum", model),
                "time",
            )
    preempted = pair.rate(pair.change("vllm:num_preemptions_total", model))
    if preempted is not None:
        ledger.read(
            f"{model}: preemptions",
            f"{60 * preempted:.4g}/min",
            pair.place("vllm:num_preemptions_total", model),
        )
    return FoundLoad(model, place, rate=rate, tokens=tokens)


def _constant(name: str, scrape: Sequence[Sample], ledger: Ledger) -> dict[str, int]:
    """Return the KV blocks of models' engines, and note what gauges show."""
    blocks: dict[str, int] = {}
    models = [s.model for s in scrape if s.name == "vllm:request_success_total"]
    for s in scrape:
        place = f"{name}:{s.line}"
        if s.name == "vllm:cache_config_info" and s.labels.get("num_gpu_blocks", "").isdecimal():
            number, size = int(s.labels["num_gpu_blocks"][:9]), s.labels.get("block_size", "16")
            of = s.model or (models[0] if models else "")
            ledger.read(f"{of}: KV blocks", f"{number} of {size} tokens", place)
            if size.isdecimal() and int(size[:4]) > 0 and number * int(size[:4]) >= 16:
                blocks[of] = number * int(size[:4]) // 16
        elif s.name in ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"):
            ledger.read(f"{s.model}: KV cache in use", f"{100 * s.value:.3g} %", place)
        elif s.name in ("nv_gpu_utilization", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE"):
            ledger.not_used(f"{s.name}{_whose(s)}", f"{100 * s.value:.3g} %", place)
        elif s.name == "DCGM_FI_DEV_GPU_UTIL":
            ledger.not_used(f"{s.name}{_whose(s)}", f"{s.value:.3g} %", place)
    return blocks


def _whose(sample: Sample) -> str:
    profile = sample.labels.get("GPU_I_PROFILE", "")
    return f" of a slice {profile}" if profile else " of a GPU"
