"""The servers that a scenario has and those on offer, with their prices; what the cluster costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.prices import listed_prices
from nona.core.errors import NonaError, ScenarioError
from nona.core.tables import money, per_hour
from nona.planning.offers import Offer, slicings
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.plan import OfferSpec, PlanSpec, PricesSpec
from nona.scenario.schema import Scenario


def with_prices(spec: PlanSpec, gpus: Iterable[str]) -> tuple[PlanSpec, bool]:
    """Return the plan with a price for each of ``gpus`` (0 where unknown), and whether all had one."""
    priced = {*listed_prices(spec.prices.kind), *spec.prices.gpus}
    priced |= {offer.gpu for offer in spec.offers if offer.price is not None}
    free = dict.fromkeys(set(gpus) - priced, 0.0)
    prices = spec.prices.model_copy(update={"gpus": {**spec.prices.gpus, **free}})
    return spec.model_copy(update={"prices": prices}), not free


def check_targets(scenario: Scenario, spec: PlanSpec) -> None:
    """Raise ``ScenarioError`` for a target of no row of the workload."""
    labels = (*scenario.labels, *scenario.language_labels)
    unknown = [name for name in spec.targets if name not in labels]
    if unknown:
        raise ScenarioError(
            [
                f"plan.targets: {unknown[0]!r} is not a row of the workload ({', '.join(labels)}); "
                "correct the name."
            ]
        )


def offers_of(scenario: Scenario, spec: PlanSpec, groups: Sequence[ServerGroupSpec]) -> tuple[Offer, ...]:
    """Return the servers on offer, those of these groups where none are named.

    Each raises as :func:`question_of`.
    """
    given = spec.offers or tuple(map(group_offer, groups))
    offers = tuple(dict.fromkeys(o for each in given for o in expanded(scenario, spec, each)))
    twice = [o.text for i, o in enumerate(offers) if any(alike(o, p) for p in offers[:i])]
    if twice:
        raise ScenarioError([f"plan.offers: {twice[0]} is on offer twice; keep one of them."])
    return offers


def group_offer(group: ServerGroupSpec) -> OfferSpec:
    """Return a group of servers as an offer."""
    return OfferSpec(gpu=group.gpu, mig=group.mig, gpus=group.gpus, vcpus=group.vcpus, mps=group.mps)


def alike(a: Offer, b: Offer) -> bool:
    """Return whether two offers are of the same servers, whatever their prices and limits."""
    return (a.gpu, a.mig, a.gpus, a.vcpus, a.mps) == (b.gpu, b.mig, b.gpus, b.vcpus, b.mps)


def expanded(scenario: Scenario, spec: PlanSpec, offer: OfferSpec) -> Iterator[Offer]:
    """Yield the offers that an entry stands for, one for each layout and number of GPUs."""
    device = find_device(offer.gpu, user_devices(scenario.cluster.devices))
    layouts: Sequence[str | None] = (None,)
    if offer.mig is not None:
        if device.mig is None:
            raise ScenarioError(
                [f"plan.offers: {offer.gpu!r} has no MIG; leave out ':{offer.mig}', or name another GPU."]
            )
        layouts = slicings(device.mig, offer.mig, offer.gpus)
    price = offer.price if offer.price is not None else _gpu_price(spec, offer.gpu)
    if price is None:
        raise ScenarioError(
            [
                f"plan.offers: {offer.gpu!r} has no {_kind(spec)}price; "
                f"write it as {offer.gpu}=1.29 (per GPU and hour)."
            ]
        )
    whole = price * offer.gpus + spec.prices.server
    for layout in layouts:
        yield Offer(offer.gpu, layout, whole, offer.most or spec.most, offer.gpus, offer.vcpus, offer.mps)


def _gpu_price(spec: PlanSpec, gpu: str) -> float | None:
    """Price per hour of a GPU that has none in its offer: as the plan says, else as listed, else ``None``.

    >>> _gpu_price(PlanSpec(), "v100"), _gpu_price(PlanSpec(), "mine")
    (2.48, None)
    """
    given = spec.prices.gpus.get(gpu)
    if given is not None:
        return given
    listed = listed_prices(spec.prices.kind).get(gpu)
    return None if listed is None else listed.usd_per_hour


def _kind(spec: PlanSpec) -> str:
    return "" if spec.prices.kind == "on-demand" else f"{spec.prices.kind} "


def servers_now(scenario: Scenario, groups: Sequence[ServerGroupSpec]) -> dict[Offer, int]:
    """Return these groups of the scenario's servers as offers with their counts.

    Prices are those of the part ``plan``, for what is on offer there those of the offer; without that part
    those of the part ``training``; else those of the shipped list. So every page and report that states what
    a cluster costs an hour states the same.

    Raises ``ScenarioError`` for a GPU without a price. Raises ``HardwareError`` for an unknown device or
    layout.
    """
    spec = scenario.plan or PlanSpec(
        prices=PricesSpec(gpus=scenario.training.prices if scenario.training else {})
    )
    offers = offers_of(scenario, spec, groups) if spec.offers else ()
    counts: dict[Offer, int] = {}
    for group in groups:
        server = next(expanded(scenario, spec, group_offer(group)))
        price = next((o.price for o in offers if alike(o, server)), server.price)
        server = replace(server, price=price, most=100_000)
        counts[server] = counts.get(server, 0) + group.count
    return counts


def cluster_price(scenario: Scenario) -> float:
    """Price per hour of the scenario's servers: Σ count · price of a server."""
    counts = servers_now(scenario, scenario.cluster.servers)
    return sum(count * server.price for server, count in counts.items())


def cluster_cost(scenario: Scenario) -> str:
    """State the cost of the present cluster per hour; empty where a GPU has no price.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2, gpu: l4}]}, training: {generate: {jobs: 9}}}"
    >>> cluster_cost(parse_scenario(text))
    '$1.60 per hour'
    """
    try:
        price = cluster_price(scenario)
    except NonaError:
        return ""
    return per_hour(price, "USD" if scenario.plan is None else scenario.plan.prices.currency)


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
    rates = f"${prices.vcpu_hour:.3g} per vCPU-hour and ${prices.vgpu_hour:.3g} per vGPU-hour"
    return f"{note} Calls are charged for what their batches hold, {rates}.".strip()
