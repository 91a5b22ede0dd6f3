"""Results of simulated language engines: times to the first and to further tokens, goodput, KV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nona.core.document import (
    Document,
    Estimate,
    Figure,
    Interval,
    Optional,
    OptionalNames,
    OptionalRuns,
    Percentile,
    RunResult,
    RunValues,
    Verdict,
)
from nona.queries.results import JobCounts, State


class TokenTimes(Estimate):
    """Mean and percentiles of a time in seconds; ``percentiles`` has their intervals."""

    p50: Figure
    p95: Figure
    p99: Figure
    percentiles: Mapping[str, Percentile]


class LongestGaps(TokenTimes):
    """Of each request the longest gap between two tokens, seconds; ``most`` is the longest of all."""

    most: Figure


class KvTokens(Document):
    """Tokens in the cache of one engine: mean over time and engines, the most at any time on any of them."""

    mean: Figure
    most: int


class EnginePrediction(Document):
    """The formula's figures of the busiest engine: load, seconds per output token, tokens in its cache."""

    load: Figure
    tpot_s: Figure
    kv_tokens: Figure


class RequestTargets(Document):
    """Service levels of a row in seconds, where it has them."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None


class StepsOff(Document):
    """Means where step times are at either end of their ``error``: (faster, slower).

    Those of a router that is overloaded then are ``None``, but for ``goodput``.
    """

    error: float
    ttft_s: tuple[Figure, Figure]
    tpot_s: tuple[Figure, Figure]
    e2e_s: tuple[Figure, Figure]
    goodput: tuple[Figure, Figure]


class RequestResult(Document):
    """The requests of one row under one router.

    ``ttft_s``: to the first token; ``tpot_s``: per further token, the mean of each request with two or more;
        ``itl_s``: gaps between tokens, all pooled; ``e2e_s``: to the last token. ``goodput`` is the share of
        all that arrived that met every target, ``slo_hit_rate`` of the complete ones. ``refused`` fit no
        engine. ``sent_s`` is the mean time of KV on its way, where prompts are computed apart; ``before_s``
        that of the queries which requests follow, from whose arrival times count.
    ``off``: where step times have an error. ``max_gap_s``: of each request the longest pause between two of
        its tokens; results that were saved before do not have it.
    """

    ttft_s: TokenTimes
    tpot_s: TokenTimes
    itl_s: TokenTimes
    e2e_s: TokenTimes
    targets: RequestTargets
    loop: Literal["open", "closed"]
    goodput: Figure
    goodput_ci95: Interval
    slo_hit_rate: Figure
    preemptions: float
    refused: int
    jobs: JobCounts
    tokens_per_s: Figure
    kv_tokens: KvTokens
    sent_s: Figure
    before_s: Figure = None
    off: StepsOff | None = None
    max_gap_s: LongestGaps | None = None


class EngineResult(Document):
    """One engine under one router: share of time at work, requests and tokens of a step, KV in use.

    ``kv_share`` is the mean share of its cache, ``kv_most`` the largest; ``prefix_hits`` the share of
    prompts' tokens that lay in the cache of a prefix, where engines keep these. ``fits``: requests of the
    mean length of its rows, prompt and answer, that its cache holds at a time.
    """

    model: str
    role: str
    busy: Figure
    running: Figure
    waiting: Figure
    decodes_per_step: Figure
    prefill_per_step: Figure
    kv_share: Figure
    kv_most: Figure
    prefix_hits: Figure
    blocks: int
    fits: int | None = None


class RouterResult(Document):
    """All replications under one router; ``goodput`` of all rows together, and its value in each of them."""

    models: Mapping[str, RequestResult]
    engines: Mapping[str, EngineResult]
    goodput: Estimate
    ttft_s: TokenTimes
    e2e_s: TokenTimes
    jobs: JobCounts
    preemptions: float
    tokens_per_s: Figure
    state: State
    state_reason: str
    replications: int
    predicted: Mapping[str, EnginePrediction]
    runs: RunValues = OptionalRuns


class LanguageReport(Document):
    """All routers of one simulation; ``seconds`` on the clock. ``checks`` held in every run, or not.

    ``queries`` names the scheduler of the queries that requests follow, where some do. ``level``: routers
    whose difference from the best, paired by replication, is not clear.
    """

    engine: str
    seconds: float
    schedulers: Mapping[str, RouterResult]
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    queries: str | None = None
    level: tuple[str, ...] = OptionalNames


class EngineStep(Document):
    """One step of an engine's chart."""

    engine: int
    begin_s: float
    end_s: float
    decodes: int
    prefill: int
    kv: int
    running: int
    waiting: int


class LongestPause(Document):
    """The longest gap between two tokens of a request in a chart of steps, and what its engine did meanwhile.

    ``row`` of the request; ``prefill`` tokens of prompts and ``steps`` were computed in it, 0 where they are
    not known; ``preempted``: the request was put back within its life.
    """

    engine: int
    row: int
    begin_s: float
    end_s: float
    steps: int
    prefill: int
    preempted: bool


class RequestPoint(Document):
    """One measured request: its row and arrival, its times in seconds, how often it was preempted."""

    row: int
    arrival_s: float
    ttft_s: Figure
    tpot_s: Figure
    e2e_s: Figure
    preemptions: int


class LanguageRun(RunResult):
    """A simulation with its charts: by router the first steps and some requests of the first replication.

    ``pauses``: the longest one within these steps; results that were saved before have none.
    """

    report: LanguageReport
    rows: tuple[str, ...]
    steps: Mapping[str, tuple[EngineStep, ...]]
    requests: Mapping[str, tuple[RequestPoint, ...]]
    pauses: Mapping[str, LongestPause | None] = {}


class LanguageOption(Document):
    """The fewest servers of an offer under a router that keep every target, and what they cost.

    ``gpu``, ``gpus``, ``tp``, ``engines``: GPUs of a server, GPUs of an engine, engines of a server.
    ``servers``: ``None`` where no number up to the most keeps the targets, or the model does not fit
        (``note``).
    ``least``: servers below which the load alone is too much, by the formula.
    ``price``, ``per_million``: per hour, and per million output tokens of the demand.
    ``verdict``, ``share``, ``tightest``: of the row that is closest to its target, with the share of its
        requests in time; ``None`` where that is a mean.
    ``tried``: it was simulated, not left out for its price.
    ``headroom``: the largest multiple of the traffic at which the targets were seen to hold; of the best
        option alone.
    ``servers_off``: servers with step times at either end of their ``error``, (shorter, longer); of the best
        option alone.
    ``settings``: of its engines, where several are on offer.
    ``prefill``: the servers among them that compute prompts, where roles are apart.
    """

    gpu: str
    gpus: int
    tp: int
    engines: int
    router: str
    servers: int | None
    least: int
    price: Figure
    per_million: Figure
    verdict: Verdict
    share: Figure
    tightest: str
    provenance: str
    note: str = ""
    tried: bool = True
    headroom: Figure = None
    without_one: Verdict | None = None
    error: float = 0.0
    servers_off: tuple[int | None, int | None] | None = None
    settings: str = ""
    prefill: int | None = Optional

    @property
    def by_role(self) -> tuple[int, ...]:
        """Servers of each role: those for prompts, those for answers; or of the one role that does both."""
        if self.servers is None:
            return ()
        return (self.servers,) if self.prefill is None else (self.prefill, self.servers - self.prefill)


class LanguagePlan(Document):
    """The purchase for requests to language models: every option, the cheapest that keeps all first."""

    options: tuple[LanguageOption, ...]
    targets: tuple[str, ...]
    tokens_per_s: float
    currency: str
    growth: float
    seconds: float

    @property
    def best(self) -> LanguageOption | None:
        """The cheapest option that keeps every target."""
        return next((o for o in self.options if o.verdict == "keeps"), None)


class LanguagePlanned(RunResult):
    """A plan for language models with its provenance; ``ended_early_s``: when it was cancelled (s)."""

    plan: LanguagePlan
    ended_early_s: Figure = Optional


class SizeCurve(Document):
    """Engines of so many GPUs: seconds per output token at each rate (requests/s), by the formula.

    The last rate is that at which the engines or their caches are full; ``error`` is that of the step times.
    """

    gpus: int
    engines: int
    rates: tuple[float, ...]
    tpot_s: tuple[Figure, ...]
    error: float
