"""Recurrent networks. MACs = steps · batch · (elements of W + elements of R), directions included."""

from __future__ import annotations

import math

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work

_GATE_FLOPS = {"LSTM": 9, "GRU": 8, "RNN": 2}
"""Element-wise FLOPs per hidden element and step: gates, products and sums of the cell."""


@rule("LSTM", "GRU", "RNN")
def recurrent(site: Site) -> Work:
    """X is (steps, batch, inputs) or, with ``layout`` 1, (batch, steps, inputs): the product counts."""
    points = math.prod(site.input_shape()[:2])
    weights, recurrence = site.input_shape(1), site.input_shape(2)
    hidden = recurrence[0] * recurrence[-1]
    bias = points * math.prod(recurrence[:2]) if site.has_input(3) else 0
    return site.work(
        macs=points * (math.prod(weights) + math.prod(recurrence)),
        flops=bias + _GATE_FLOPS[site.operator.kind] * points * hidden,
    )
