"""The cost of a cluster per hour: one basis and the same words for every family."""

from __future__ import annotations

from nona.errors import NonaError
from nona.scenario.schema import Scenario
from nona.study.planning.question import cluster_price
from nona.tables.formats import money, per_hour


def cluster_cost(scenario: Scenario) -> str:
    """State the cost of the present cluster per hour; empty where a GPU has no price.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2, gpu: l4}]}, training: {generate: {jobs: 9}}}"
    >>> cluster_cost(parse_scenario(text))
    '1.6 USD per hour'
    """
    try:
        price = cluster_price(scenario)
    except NonaError:
        return ""
    return per_hour(price, "USD" if scenario.plan is None else scenario.plan.prices.currency)


MONTH_H = 730.0


def cost_over(scenario: Scenario, hours: float) -> str:
    """State the cost of the present cluster for so many hours; a dash where a GPU has no price."""
    try:
        price = hours * cluster_price(scenario)
    except NonaError:
        return "–"
    return money(price, "USD" if scenario.plan is None else scenario.plan.prices.currency)


def cost_note(scenario: Scenario) -> str:
    """State the cost in a sentence, and the charges for calls of functions."""
    cost = cluster_cost(scenario)
    note = f"The cluster costs {cost} by the prices of its GPUs." if cost else ""
    if scenario.serverless is None:
        return note
    prices = scenario.serverless.prices
    rates = f"{prices.vcpu_hour:.3g} USD per vCPU-hour and {prices.vgpu_hour:.3g} USD per vGPU-hour"
    return f"{note} Calls are charged for what their batches hold, {rates}.".strip()
