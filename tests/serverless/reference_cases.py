"""Small random systems and plain policies on which two simulators must agree."""

from hypothesis import strategies as st
from pools import make_pool

from nona.cluster.hardware.mig import parse_layout
from nona.cluster.sharing.pool import Invoker
from nona.cluster.sharing.registry import SHARING_MODES
from nona.cluster.topology import make_topology
from nona.core.options import PolicyOption
from nona.models.graph.dag import Dag
from nona.queries.system import BackgroundStream, SharedNetwork
from nona.scenario.arrivals import Arrivals
from nona.scenario.serverless import ContainersSpec, DispatchSpec, IntervalSpec, SharingSpec, TransferSpec
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, grid
from nona.serverless.policies.base import BatchPlan, ConfigurationPolicy
from nona.serverless.system import Application, NodeMemory, ServerlessSystem

SHAPES = (
    (1, ()),
    (2, ((0, 1),)),
    (3, ((0, 1), (1, 2))),
    (3, ((0, 1), (0, 2))),
    (3, ((0, 2), (1, 2))),
    (4, ((0, 1), (0, 2), (1, 3), (2, 3))),
    (4, ((0, 1), (1, 2), (0, 3), (2, 3))),
)
RULES = ("home", "warm", "walk", "most-free")


class PlainPlanner:
    """Ranks three configurations by a rule without sense; searches, carries and waits as it is told."""

    place = None

    def __init__(self, system, options):
        self.size, self.options = len(system.space), options
        self.stages = [app.stages for app in system.applications]
        pools = [make_pool(node, system.sharing) for node in system.invokers]
        self.possible = [n for n in range(self.size) if any(p.fits(system.space[n]) for p in pools)]
        if options["places"]:
            self.place = self.last_with_room

    def plan(self, ask):
        options, n = self.options, len(self.possible)
        if ask.length < options["wait_for"] and ask.waited_s < options["wait_s"]:
            return BatchPlan((), wait_s=options["wait_s"] - ask.waited_s, wait_for=options["wait_for"])
        late = 3 if ask.slack_s < 0 else 0
        start = 5 * ask.application + 3 * ask.stage + ask.length + late
        ranked = tuple(dict.fromkeys(self.possible[(start + 2 * k) % n] for k in range(3)))
        carry, missed = None, False
        if options["carries"]:
            if ask.carried is None:
                carry = tuple(self.possible[(start + s) % n] for s in range(self.stages[ask.application]))
            else:
                ranked = (ask.carried[ask.stage], *ranked)
                missed = ask.length == 2
        return BatchPlan(ranked, options["search_s"] * ask.length, len(ranked), carry, missed)

    def last_with_room(self, ask, ranked, view):
        for place, configuration in enumerate(ranked):
            for invoker in reversed(range(len(view.free_vcpus))):
                if view.fits(invoker, configuration):
                    return place, invoker
        return None


DEFAULTS = {"search_s": 0.0, "carries": False, "wait_s": 0.0, "wait_for": 0, "places": False}
PLAIN = ConfigurationPolicy(
    name="plain",
    build=PlainPlanner,
    settings={name: PolicyOption(value, "") for name, value in DEFAULTS.items()},
    **dict.fromkeys(("summary", "source", "adaptation"), ""),
)


@st.composite
def plain_options(draw):
    waits = draw(st.booleans())
    return {
        "search_s": draw(st.sampled_from((0.0, 0.00317, 0.0483))),
        "carries": draw(st.booleans()),
        "wait_s": 0.0707 if waits else 0.0,
        "wait_for": draw(st.sampled_from((0, 2, 3))) if waits else 0,
        "places": draw(st.integers(0, 5)) == 0,
    }


@st.composite
def functions_of(draw, count):
    made = []
    for number in range(count):
        s = draw(st.sampled_from((0.0211, 0.0987, 0.2903)))
        law = LawTimes(GpuLaw(0.4 * s, 0.3 * s, 0.3 * s), CpuLaw(0.2 * s, 0.1 * s))
        cold_s = draw(st.sampled_from((0.0, 0.0513, 0.397)))
        made.append(Function(f"f{number}", law, cold_start_s=cold_s, input_bytes=1e6))
    return tuple(made)


@st.composite
def applications(draw, functions):
    made = []
    for number in range(draw(st.integers(1, 3))):
        stages, edges = draw(st.sampled_from(SHAPES))
        process = draw(st.sampled_from(("poisson", "poisson", "gamma", "deterministic", "mmpp")))
        made.append(
            Application(
                name=f"a{number}",
                stage_names=tuple(f"s{s}" for s in range(stages)),
                function=tuple(draw(st.integers(0, functions - 1)) for _ in range(stages)),
                dag=Dag.from_edges(stages, edges),
                input_bytes=tuple(draw(st.sampled_from((0.0, 2e5, 3e6))) for _ in range(stages)),
                slo_s=draw(st.sampled_from((0.3, 1.0, 3.0))),
                rate=draw(st.sampled_from((1.0, 4.0, 12.0))),
                arrivals=Arrivals(process, cv=2.0, burst_mean_s=0.5),
            )
        )
    return tuple(made)


def any_of(*values):
    return st.sampled_from(values)


SPACES = st.builds(
    grid, any_of((1,), (1, 2), (1, 2, 4)), any_of((1,), (1, 3)), any_of((1,), (1, 2), (1, 3, 7), (1, 2, 4))
)


@st.composite
def dispatches(draw):
    first = draw(st.permutations(RULES))[: draw(st.integers(1, 4))]
    later = draw(st.permutations(("predecessor", *RULES)))[: draw(st.integers(1, 5))]
    every = {"walk", "most-free"}  # some rule must reach every invoker, or a batch may wait for ever
    return DispatchSpec(
        first=tuple(first) if every & set(first) else (*first, "walk"),
        later=tuple(later) if every & set(later) else (*later, "most-free"),
        rechecks=draw(st.sampled_from((1, 3, 50))),
        blocking=draw(st.booleans()),
        partial=draw(st.booleans()),
        ready_first=draw(st.booleans()),
        late=draw(st.sampled_from(("keep", "fastest", "drop", "drop"))),
        order=draw(st.sampled_from(("round-robin", "least-slack"))),
    )


CONTAINERS = st.builds(
    ContainersSpec,
    warm=st.integers(0, 2),
    prewarm=any_of("none", "spare", "ewma"),
    spare=st.integers(1, 2),
    keep_alive=any_of(0.0, 0.149, 0.797, 600.0),
    ewma_weight=any_of(0.25, 0.7),
)


MODES = ("mig-counter", *SHARING_MODES)  # the plain way twice as often
LAYOUT = parse_layout("4g.20gb, 2g.10gb, 1g.5gb", "a100-40gb")


@st.composite
def networks(draw, servers):
    """One link, cards, or racks too; slow enough for inputs of megabytes to wait."""
    capacity = draw(st.sampled_from((1.1e7, 5.3e7, 1e9)))
    nic = draw(st.sampled_from((None, 0.7 * capacity, 0.3 * capacity)))
    racks = nic is not None and draw(st.booleans())
    topology = make_topology(servers, capacity, nic, 2 if racks else None, 0.8 * capacity if racks else None)
    share = draw(st.sampled_from((0.0, 0.4)))
    background = BackgroundStream(share * capacity / 7e5, 7e5, draw(st.sampled_from((0.0, 1.0))))
    return SharedNetwork(topology, draw(st.sampled_from((0.0, 0.0031))), background)


@st.composite
def memories(draw, nodes, functions):
    """Nodes that hold a few containers; some hold none of the large functions."""
    needs = tuple(draw(st.sampled_from((1, 2, 3))) for _ in range(functions))
    first = draw(st.sampled_from((max(needs), 2 * max(needs) + 1, 9)))
    others = tuple(draw(st.sampled_from((first, 1, 2 * first))) for _ in range(nodes - 1))
    return NodeMemory((first, *others), needs, tuple(f"f{f}" for f in range(functions)))


@st.composite
def systems(draw, modes=MODES, shared_links=False, paid_waits=False, scarce=False):
    """A small platform; about half of them under more load than they bear."""
    functions = draw(st.integers(1, 3))
    mode = draw(st.sampled_from(modes))
    sharing = SharingSpec(
        mode=mode,
        reconfiguration=draw(st.sampled_from((0.0, 0.1013))),
        oversubscription=draw(st.sampled_from((1.0, 2.0))) if mode == "mps" else 1.0,
    )
    apps = draw(applications(functions))
    node = Invoker(
        vcpus=draw(st.sampled_from((4, 8))),
        gpus=draw(st.sampled_from((1, 1, 2))),
        layout=LAYOUT if SHARING_MODES[mode].fixed_layout else None,
    )
    nodes = draw(st.integers(1, 3))
    memory = draw(memories(nodes, functions)) if scarce else None
    return ServerlessSystem(
        memory=memory,
        network=draw(networks(nodes)) if shared_links else None,
        idle_cost=draw(st.sampled_from((0.1, 1.0))) if paid_waits else 0.0,
        space=draw(SPACES),
        functions=draw(functions_of(functions)),
        applications=apps,
        invokers=(node,) * nodes,
        sharing=sharing,
        transfer=TransferSpec(),
        containers=draw(CONTAINERS),
        dispatch=draw(dispatches()),
        noise=draw(st.sampled_from((0.0, 0.1, 0.5))),
        interval=draw(st.sampled_from((None, None, IntervalSpec(least=0.01, most=0.2)))),
        seed=draw(st.integers(0, 10**6)),
    )
