"""What queueing theory predicts of a placement: times by query class, executor class and link."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueryPrediction:
    """Predicted mean JCT of one query class and what it is made of, in seconds.

    The four shares follow the path that is longest in expectation and add up to ``jct_s``.
    """

    jct_s: float
    compute_s: float
    transfer_s: float
    network_wait_s: float
    server_wait_s: float


@dataclass(frozen=True, slots=True)
class ClassPrediction:
    """One executor class: how many executors, how busy each is, and how long a visit waits there."""

    name: str
    executors: int
    utilization: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class LinkPrediction:
    """The links of one role that are alike, as queueing theory sees them.

    A message crosses one of the ``links`` with probability ``share``; each has ``capacity`` bytes/s,
    is used to ``utilization`` (background included), and lets the message wait ``wait_s``. The mean
    wait of a message on its whole way is Σ share·wait_s.
    """

    name: str
    kind: str
    links: int
    share: float
    capacity: float
    utilization: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What queueing theory says of a placement.

    ``network_wait_s`` and ``server_wait_s`` are mean waits of one message and of one visit,
    ``compute_utilization`` the mean over all executors; ``classes`` has it for each class.
    ``congestion_price_s_per_byte`` is the increase of the mean JCT, times the total query rate,
    per byte/s of extra traffic: the marginal cost that one more byte causes to everyone.
    """

    jct_s: float
    network_wait_s: float
    server_wait_s: float
    network_utilization: float
    compute_utilization: float
    congestion_price_s_per_byte: float
    queries: tuple[QueryPrediction, ...]
    classes: tuple[ClassPrediction, ...] = ()
    links: tuple[LinkPrediction, ...] = ()
