"""The demo's stories: questions, the pages that answer them, what to see there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nona.queries.sweeps.numbers import LINK
from nona.queries.workflows.shipped import PLANNED


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step.

    ``page``: the file of the page on which it takes place.
    ``text``: the points to look for there, in one or two sentences. It is read before the result is there and
        states no outcome: that comes from the result (:func:`nona.app.pages.demo.outcome_text`).
    ``changes``: changes of the story's scenario (path → value).
    ``choices``: choices on the page: (widget, value).
    ``run``: the kind of job whose result the page shows; it starts unless the result is there.
    ``against``: True if the step before is the baseline of this one's simulation.
    ``files``: the folder of ``sample_models/deployments`` whose files were dropped.
    """

    page: str
    text: str
    changes: Mapping[str, float | str] = field(default_factory=dict)
    choices: tuple[tuple[str, str | int], ...] = ()
    run: str = ""
    against: bool = False
    files: str = ""


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question, the shipped scenario and the model that answer it, and at most five steps."""

    question: str
    scenario: str
    steps: tuple[DemoStep, ...]
    model: str = ""


HOME, SCENARIO, MODELS = "pages/home.py", "pages/scenario.py", "pages/models.py"
PLACEMENT, SIMULATION, PLAN = "pages/placement.py", "pages/simulation.py", "pages/plan.py"
SERVERLESS, TRAINING, EVIDENCE = "pages/serverless.py", "pages/training.py", "pages/evidence.py"
IMPORTED = "pages/imported.py"
MOST_STEPS = 5
Changes = Mapping[str, float | str]
NONE: Changes = MappingProxyType({})
QUICK: Changes = MappingProxyType({"simulation.jobs": 2000, "simulation.replications": 3})
SHORT: Changes = MappingProxyType({"simulation.replications": 1})
SWEPT = (  # small enough to watch it grow
    ("sweep-shown-number", LINK),
    (f"sweep-shown-values-{LINK}", "0 %, 25 %, 50 %, 75 %, 95 %"),
    ("sweep-shown-jobs", 2000),
    ("sweep-shown-replications", 2),
)
BUSY: Changes = MappingProxyType(  # an SLO that one server keeps: 22 ms
    {"background.network.utilization": 0.85, "workload[0].slo": 0.025}
)
MORE: Changes = MappingProxyType({**QUICK, "cluster.servers[0].count": 12})
SMALL_STEPS: Changes = MappingProxyType({"cluster.servers[0].engine.budget": 1024})


def _tabs(
    page: str, key: str, texts: Mapping[str, str], run: str = "", changes: Changes = NONE
) -> tuple[DemoStep, ...]:
    """Return a step for each tab of a page, or each value of another choice of that key."""
    return tuple(DemoStep(page, text, changes, ((key, tab),), run) for tab, text in texts.items())


def _simulated(text: str, changes: Changes, tab: str = "Compare", against: bool = False) -> DemoStep:
    choices = (("simulation-view", "Run"), ("simulate-tabs", tab))
    return DemoStep(SIMULATION, text, changes, choices, "simulate", against)


def _engines(text: str, changes: Changes = NONE) -> DemoStep:
    return DemoStep(SIMULATION, text, changes, (("language-tabs", "Engines"),), "language")


def _evidence(text: str, tab: str, *chosen: tuple[str, str]) -> DemoStep:
    return DemoStep(EVIDENCE, text, choices=(("evidence-tabs", tab), *chosen))


TRAINING_STORY = DemoQuestion(
    "Who should get which GPU, when jobs train for hours?",
    "shared_research_cluster",
    _tabs(
        TRAINING,
        "training-tabs",
        {
            "Policies": "Every policy gets the same jobs on the same GPUs. The chart shows mean JCT against "
            "cost.",
            "Rounds": "This chart shows which job had which GPU. Click a bar: the table says why each job "
            "ran or waited in that round.",
            "Allocation": "The share of time that the policy allocates to each job on each type, and the "
            "share received.",
            "Fairness": "This chart shows which jobs would be faster on an equal share of the cluster.",
        },
        "training",
        SHORT,
    ),
)
DEPLOYED_STORY = DemoQuestion(
    "Here is my repository: where is the bottleneck, and when does it break?",
    "documents_as_deployed",
    (
        DemoStep(
            IMPORTED,
            "The files of a running server: a Triton repository, its node, two scrapes of its metrics, a "
            "load test. Each fact has its file and line, and the questions that files leave are answered.",
            files="documents",
        ),
        _simulated(
            "The same cluster, simulated. Where does the time of a document go: computing, waiting for a "
            "GPU, or waiting for a batch to fill?",
            NONE,
            "Where time goes",
        ),
        DemoStep(
            PLACEMENT,
            "Which stages should share a GPU? Every layout of the stages is simulated with the same "
            "documents. On your own scenario one click takes a layout over.",
            run="place",
        ),
        DemoStep(
            PLAN,
            "Twice the traffic: how many servers keep the target, and when do they break? On your own "
            "scenario, “Take away” writes the files that deploy the answer and the load test that could "
            "refute it.",
            MappingProxyType({"workload[0].rate": 120.0}),
            (("plan-tabs", "More traffic"),),
            "plan",
        ),
    ),
)
STORIES = (
    DemoQuestion(
        "Why does the network matter?",
        "slides_example",
        (
            DemoStep(
                HOME,
                "One query of four tasks is placed three ways. Move the slider, so that other traffic takes "
                "more of the link, and look for the load at which splitting stops paying.",
            ),
            DemoStep(
                PLACEMENT,
                "The placement gives every way of splitting this query a probability. Here the link is free: "
                "which tasks leave the first server?",
                run="place",
            ),
            DemoStep(
                PLACEMENT,
                "Now other traffic takes most of the link, and the placement is solved again. What still "
                "leaves the first server?",
                BUSY,
                run="place",
            ),
            _simulated(
                "A simulation of the same cluster, with the same arrivals for every scheduler. Compare the "
                "prediction with the simulated mean.",
                BUSY,
            ),
        ),
    ),
    DemoQuestion(
        "What could my model gain?",
        "vision_language_8_servers",
        _tabs(
            MODELS,
            "model-view",
            {
                "Operators": "A model as its file has it: every node is an operator with a time. Parallelism "
                "is the most that splitting one query could gain.",
                "Step by step": "Contraction merges operators that cannot gain from being apart. Press Play: "
                "every step says why it is allowed.",
                "Tasks": "These tasks remain. Tasks drawn next to each other could run at the same time, on "
                "different servers.",
                "What it could gain": "Each row is a part of the query that could be distributed, with the "
                "most that this could save on this cluster's link.",
            },
        ),
        "googlenet",
    ),
    DemoQuestion(
        "What does my cluster need?",
        "vision_language_8_servers",
        (
            DemoStep(
                SCENARIO,
                "This page has the models with their rates and SLOs, and the servers that they share. The "
                "bar shows the load of the servers and their cost.",
                QUICK,
            ),
            _simulated(
                "Every scheduler on the same arrivals, with intervals. The headline says which has the "
                "lowest mean JCT, and whether the difference is clear.",
                QUICK,
            ),
            _simulated(
                "The same with more servers. The previous step is the baseline: does the interval of the "
                "difference exclude zero?",
                MORE,
                against=True,
            ),
        ),
    ),
    DemoQuestion(
        "What should we buy, and when does it break?",
        PLANNED,
        _tabs(
            PLAN,
            "plan-tabs",
            {
                "More "
                "traffic": "The plan looks for the cheapest servers and scheduler that keep every target. "
                "Each marker is a simulated cluster.",
                "Costs": "The cost of the answer, part by part, next to the runners-up that keep the "
                "targets.",
                "Failures": "When a server fails, does the rest still keep the targets? The plan did not ask "
                "for that.",
                "Evidence": "The evidence: which server counts of each cluster kind were ruled out, missed "
                "the targets or kept them.",
            },
            "plan",
        ),
    ),
    DemoQuestion(
        "Which scheduler, and up to what load?",
        "five_models_80_servers",
        (
            DemoStep(
                SCENARIO,
                "The five models of the Nona paper on a large cluster; the rates are our assumption.",
            ),
            DemoStep(
                SIMULATION,
                "One number of the scenario varies, every scheduler is simulated at every value. A curve "
                "ends where its scheduler becomes unstable.",
                choices=(("simulation-view", "Sweep"), *SWEPT),
                run="sweep",
            ),
            _simulated(
                "At the scenario's own load: where the time of each scheduler goes, from computing to "
                "waiting for servers and the link.",
                QUICK,
                "Where time goes",
            ),
        ),
    ),
    DemoQuestion(
        "Which serverless policy keeps the SLO, at what cost?",
        "strict_light",
        (
            *_tabs(
                SERVERLESS,
                "serverless-tabs",
                {
                    "Policies": "Every policy chooses jobs, vCPUs and vGPUs for each batch, on the same "
                    "calls. The chart shows kept SLOs against cost.",
                    "Latency": "How long calls take under each policy, against their SLO.",
                    "Search": "One search of ESG, step by step: which configurations it tries, and which "
                    "rule prunes each branch.",
                },
                "serverless",
                QUICK,
            ),
            _evidence(
                "What the slides on ESG claim, and whether this simulation reproduces it.",
                "Published claims",
                ("claims-of", "the slides on ESG"),
            ),
        ),
    ),
    TRAINING_STORY,
    DemoQuestion(
        "Do long prompts stall the answers of language models?",
        "prefill_stalls_decode",
        (
            DemoStep(
                SCENARIO,
                "Chat and long documents share one engine, which generates all answers token by token. Look "
                "at the prompt lengths, and at the token budget of a step.",
            ),
            _engines(
                "A step gives a token to every answer that runs. Look for steps with a large part of a "
                "prompt: they delay all answers."
            ),
            _engines(
                "The same requests with a smaller token budget, so that prompts are split into smaller "
                "chunks. Compare the gaps between tokens and the first tokens.",
                SMALL_STEPS,
            ),
            _evidence(
                "The simulation compared with a vLLM run that was measured request by request.",
                "Simulator",
                ("simulator-of", "language models"),
            ),
        ),
    ),
    DEPLOYED_STORY,
    DemoQuestion(
        "How accurate are the results?",
        "vision_language_8_servers",
        (
            _evidence("Modelled times against published latencies of whole networks.", "Times"),
            _evidence(
                "Predicted means against simulated ones, from all local to all spread; and whether the "
                "chosen placements win in simulation.",
                "Predictions",
            ),
            _evidence(
                "The paper's evaluation, repeated.", "Published claims", ("claims-of", "the Nona paper")
            ),
            _simulated(
                "Every run states its confidence: the prediction, the simulated mean with its interval, and "
                "the bound of an idle cluster.",
                QUICK,
                "Confidence",
            ),
        ),
    ),
)
