"""What the formula predicts of a placement: for the mix, for each executor class and role of links."""

from __future__ import annotations

from pydantic import Field

from nona.results.document import Document, Figure


class PredictedClass(Document):
    """One executor class: how many executors, how busy each is, how long a visit waits there."""

    executor_class: str = Field(validation_alias="class", serialization_alias="class")
    executors: int
    utilization: float
    wait_s: Figure


class PredictedLink(Document):
    """The links of one role: a message crosses one of them with probability ``share``.

    ``capacity`` in bytes/s, ``wait_s`` the mean wait of a message there.
    """

    name: str
    kind: str
    links: int
    share: float
    capacity: float
    utilization: float
    wait_s: Figure


class PredictedMix(Document):
    """The prediction for the whole mix, by formula; waits are of one message and of one visit."""

    jct_s: Figure
    network_wait_s: Figure
    server_wait_s: Figure
    network_utilization: float
    compute_utilization: float
    congestion_price_s_per_byte: Figure
    classes: tuple[PredictedClass, ...]
    links: tuple[PredictedLink, ...]
