"""Two scrapes of Prometheus' text format as traffic, batches, queues, steps and KV blocks.

Counters of Triton are in microseconds of requests, those of vLLM in seconds; between scrapes only differences
count. Source: triton-inference-server/server, docs/user_guide/metrics.md; vLLM, docs/usage/metrics.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.core.errors import DeploymentError
from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Found, FoundLoad, FoundTimes

MOST_SAMPLES = 500_000
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


def scrapes(files: Sequence[GivenFile], ledger: Ledger) -> Found:
    """Return the load and the times that a pair of scrapes shows; of one scrape only what is constant."""
    all_samples = [(f, samples(f)) for f in files]
    if len(all_samples) > 2:
        raise DeploymentError(
            f"{files[2].name}:1: a third scrape; give the first and the last of an interval."
        )
    if len(all_samples) == 1:
        file, only = all_samples[0]
        ledger.not_used(
            f"{file.name}: counters", "one scrape has no rates; give a second one", f"{file.name}:1"
        )
        return Found(blocks=_constant(file.name, only, ledger))
    (file_a, a), (file_b, b) = all_samples
    if _grown(a, b) < _grown(b, a):
        (file_a, a), (file_b, b) = (file_b, b), (file_a, a)
    _refuse_resets(a, b, file_b)
    pair = _Pair(file_b.name, a, b, _seconds(file_a, a, file_b, b, ledger))
    loads, times = [], []
    for model in sorted({s.model for s in b if s.name == "nv_inference_request_success"}):
        load, time = _triton(pair, model, ledger)
        loads += [load] if load else []
        times += [time] if time else []
    for model in sorted({s.model for s in b if s.name == "vllm:request_success_total"}):
        loads += [load] if (load := _vllm(pair, model, ledger)) else []
    return Found(times=tuple(times), loads=tuple(loads), blocks=_constant(file_b.name, b, ledger))


def _key(sample: Sample) -> tuple[str, tuple[tuple[str, str], ...]]:
    return sample.name, tuple(sorted(sample.labels.items()))


def _counts(sample: Sample) -> bool:
    return sample.name.endswith(_SUMMED) and "pending" not in sample.name  # which is a gauge


def _grown(a: Sequence[Sample], b: Sequence[Sample]) -> int:
    """Return how many counters are larger in ``b``."""
    before = {_key(s): s.value for s in a}
    return sum(s.value > before.get(_key(s), s.value) for s in b if _counts(s))


def _refuse_resets(a: Sequence[Sample], b: Sequence[Sample], file: GivenFile) -> None:
    before = {_key(s): s.value for s in a}
    for sample in b:
        if _counts(sample) and sample.value < before.get(_key(sample), sample.value):
            raise DeploymentError(
                f"{file.name}:{sample.line}: the counter {sample.name} fell: its server started anew between "
                "the scrapes; give two of one run."
            )


def _seconds(
    file_a: GivenFile, a: Sequence[Sample], file_b: GivenFile, b: Sequence[Sample], ledger: Ledger
) -> float | None:
    """Return the time between scrapes: by their timestamps, by numbers in the files' names, or asked."""
    stamps = [next((s.milliseconds for s in of if s.milliseconds is not None), None) for of in (a, b)]
    place = f"{file_b.name}:1"
    if stamps[0] is not None and stamps[1] is not None and stamps[1] > stamps[0]:
        seconds = (stamps[1] - stamps[0]) / 1000
        ledger.read("time between the scrapes", seconds, place, "time")
        return seconds
    numbers = [re.fullmatch(r"\D*(\d{1,9})\D*", f.base.rpartition(".")[0]) for f in (file_a, file_b)]
    clock = all(n and re.fullmatch(r"([01]\d|2[0-3])[0-5]\d", n[1]) for n in numbers)  # 1200 is noon, perhaps
    if numbers[0] and numbers[1] and not clock and int(numbers[1][1]) > int(numbers[0][1]):
        seconds = float(int(numbers[1][1]) - int(numbers[0][1]))
        what = "time between the scrapes, by the names of the files"
        return float(ledger.assume(what, seconds, place, "time", "scrapes.interval"))
    return ledger.number("scrapes.interval", "time between the two scrapes", place, "time")


def _triton(pair: _Pair, model: str, ledger: Ledger) -> tuple[FoundLoad | None, FoundTimes | None]:
    done = pair.change("nv_inference_request_success", model)
    if not done:
        return None, None
    place = pair.place("nv_inference_request_success", model)
    rate = pair.rate(done)
    if rate is not None:
        ledger.read(f"{model}: rate", rate, place, "rate")
    if (failed := pair.rate(pair.change("nv_inference_request_failure", model))) is not None:
        ledger.read(
            f"{model}: rejected or failed", failed, pair.place("nv_inference_request_failure", model), "rate"
        )
    count, runs = pair.change("nv_inference_count", model), pair.change("nv_inference_exec_count", model)
    batch = count / runs if count and runs else None
    if batch is not None:
        ledger.read(f"{model}: mean batch", f"{batch:.4g}", pair.place("nv_inference_exec_count", model))
    queue = pair.change("nv_inference_queue_duration_us", model)
    if queue is not None:
        ledger.read(f"{model}: mean wait in the queue", queue * 1e-6 / done,
                    pair.place("nv_inference_queue_duration_us", model), "time")  # fmt: skip
    parts = {
        p: pair.change(f"nv_inference_compute_{p}_duration_us", model) for p in ("input", "infer", "output")
    }
    step_s = sum(p or 0.0 for p in parts.values()) * 1e-6 / done
    if parts["infer"] is None:
        return FoundLoad(model, place, rate=rate), None
    at = pair.place("nv_inference_compute_infer_duration_us", model)
    for name, total in parts.items():
        if total is not None:
            ledger.read(f"{model}: step, {name}", total * 1e-6 / done, at, "time")
    ledger.read(f"{model}: step, mean over requests", step_s, at, "time")
    if runs and pair.seconds:
        ledger.read(f"{model}: executors busy", f"{100 * runs * step_s / pair.seconds:.3g} %", at)
    times = FoundTimes(model, {max(1, round(batch or 1)): step_s}, at)
    return FoundLoad(model, place, rate=rate), times


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
