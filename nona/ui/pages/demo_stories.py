"""The demo's stories: questions, the pages that answer them, what to see there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes
    ----------
    page
        The file of the page on which it takes place.
    text
        The points to look for there, in one or two sentences. It is read before the result is there and
        states no outcome: that comes from the result (:func:`nona.ui.pages.demo.outcome_text`).
    changes
        Changes of the story's scenario (path → value).
    choices
        Choices on the page: (widget, value).
    run
        The kind of job whose result the page shows; it starts unless the result is there.
    against
        True if the step before is the baseline of this one's simulation.
    """

    page: str
    text: str
    changes: Mapping[str, float | str] = field(default_factory=dict)
    choices: tuple[tuple[str, str], ...] = ()
    run: str = ""
    against: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """A question, the shipped scenario and the model that answer it, and at most five steps."""

    question: str
    scenario: str
    steps: tuple[Step, ...]
    model: str = ""


TRAINING = "pages/training.py"
SHORT: Mapping[str, float | str] = MappingProxyType({"simulation.replications": 1})
TRAINING_STORY = Story(
    "Who should get which GPU, when jobs train for hours?",
    "shared_research_cluster",
    (
        Step(
            TRAINING,
            "Every policy gets the same jobs on the same GPUs. The chart sets mean JCT against cost.",
            SHORT,
            (("training-tabs", "Policies"),),
            "training",
        ),
        Step(
            TRAINING,
            "Which job had which GPU. Click a bar: the table says why each job ran or waited in that round.",
            SHORT,
            (("training-tabs", "Rounds"),),
            "training",
        ),
        Step(
            TRAINING,
            "The share of time that the policy allocates to each job on each type, and the share received.",
            SHORT,
            (("training-tabs", "Allocation"),),
            "training",
        ),
        Step(
            TRAINING,
            "Who would be faster on an equal share of the cluster.",
            SHORT,
            (("training-tabs", "Fairness"),),
            "training",
        ),
    ),
)

MODELS, SCENARIO, PLACEMENT = "pages/models.py", "pages/scenario.py", "pages/placement.py"
SIMULATION, SERVERLESS = "pages/simulation.py", "pages/serverless.py"
PLAN = "pages/plan.py"
HOME, EVIDENCE = "pages/home.py", "pages/evidence.py"
MOST_STEPS = 5
RUN, SWEEP = ("simulation-view", "Run"), ("simulation-view", "Sweep")
QUICK: Mapping[str, float | str] = MappingProxyType({"simulation.jobs": 2000, "simulation.replications": 3})
BUSY: Mapping[str, float | str] = MappingProxyType({"background.network.utilization": 0.85})
MORE: Mapping[str, float | str] = MappingProxyType({**QUICK, "cluster.servers[0].count": 12})

SPLIT_TAB = "Split or batch"


def _arranged(text: str, batch: str, gaps: str = "Poisson (CV 1)") -> Step:
    choices = (("place-tabs", SPLIT_TAB), ("arranged-batch", batch), ("arranged-gaps", gaps))
    return Step(PLACEMENT, text, choices=choices, run="arrange")


SMALL_STEPS: Mapping[str, float | str] = MappingProxyType({"cluster.servers[0].engine.budget": 1024})


def _engine_step(text: str, changes: Mapping[str, float | str]) -> Step:
    return Step(SIMULATION, text, changes, (("language-tabs", "Engines"),), "language")


STORIES = (
    Story(
        "Why does the network matter?",
        "slides_example",
        (
            Step(
                HOME,
                "One query of four tasks is placed three ways. Move the slider, so that other traffic takes "
                "more of the link, and look for the load at which splitting stops paying.",
            ),
            Step(
                PLACEMENT,
                "The solver gives every way of splitting this query a probability. Here the link is free: "
                "which tasks leave the first server?",
                run="place",
            ),
            Step(
                PLACEMENT,
                "Now other traffic takes most of the link, and the placement is solved again. What still "
                "leaves the first server?",
                BUSY,
                run="place",
            ),
            Step(
                SIMULATION,
                "A simulation of the same cluster, with the same arrivals for every scheduler. Compare the "
                "prediction with the simulated mean.",
                BUSY,
                (RUN, ("simulate-tabs", "Compare")),
                run="simulate",
            ),
        ),
    ),
    Story(
        "What could my model gain?",
        "vision_language_8_servers",
        (
            Step(
                MODELS,
                "A model as its file has it: every node is an operator with a time. Parallelism is the most "
                "that splitting one query could gain.",
                choices=(("model-view", "Operators"),),
            ),
            Step(
                MODELS,
                "Contraction merges operators that cannot gain from being apart. Press Play: every step says "
                "why it is allowed.",
                choices=(("model-view", "Step by step"),),
            ),
            Step(
                MODELS,
                "These tasks remain. Tasks drawn next to each other could run at the same time, on different "
                "servers.",
                choices=(("model-view", "Tasks"),),
            ),
            Step(
                MODELS,
                "Each row is a part of the query that could be distributed, with the most that this could "
                "save on this cluster's link.",
                choices=(("model-view", "What it could gain"),),
            ),
        ),
        "googlenet",
    ),
    Story(
        "What does my cluster need?",
        "vision_language_8_servers",
        (
            Step(
                SCENARIO,
                "The models with their rates and SLOs, and the servers that they share. The bar says how "
                "full the servers become, and what they cost.",
                QUICK,
            ),
            Step(
                SIMULATION,
                "Every scheduler on the same arrivals, with intervals. The headline says which has the "
                "lowest mean JCT, and whether the difference is clear.",
                QUICK,
                (RUN, ("simulate-tabs", "Compare")),
                "simulate",
            ),
            Step(
                SIMULATION,
                "The same with more servers. The step before is the baseline: does the interval of the "
                "difference exclude zero?",
                MORE,
                (RUN, ("simulate-tabs", "Compare")),
                "simulate",
                against=True,
            ),
        ),
    ),
    Story(
        "What should we buy, and when does it break?",
        "a100s_sliced_or_l4s",
        (
            Step(
                PLAN,
                "GPUs on offer, whole or sliced, at their prices. The plan looks for the cheapest servers "
                "and scheduler that keep every target: each marker is a cluster that was simulated.",
                choices=(("plan-tabs", "More traffic"),),
                run="plan",
            ),
            Step(
                PLAN,
                "What the answer costs, part by part, next to the runners-up that keep the targets.",
                choices=(("plan-tabs", "Costs"),),
                run="plan",
            ),
            Step(
                PLAN,
                "When a server fails, does the rest still keep the targets? The plan did not ask for that.",
                choices=(("plan-tabs", "Failures"),),
                run="plan",
            ),
            Step(
                PLAN,
                "The evidence: for every kind of cluster, which counts were ruled out, missed or kept.",
                choices=(("plan-tabs", "Evidence"),),
                run="plan",
            ),
        ),
    ),
    Story(
        "Which scheduler, and up to what load?",
        "five_models_80_servers",
        (
            Step(
                SCENARIO,
                "The five models of the Nona paper on a large cluster; the rates are our assumption.",
            ),
            Step(
                SIMULATION,
                "One number of the scenario varies, every scheduler is simulated at every value. A curve "
                "ends where its scheduler becomes unstable.",
                choices=(SWEEP,),
                run="sweep",
            ),
            Step(
                SIMULATION,
                "At the scenario's own load: where the time of each scheduler goes, from computing to "
                "waiting for servers and the link.",
                QUICK,
                (RUN, ("simulate-tabs", "Where time goes")),
                "simulate",
            ),
        ),
    ),
    Story(
        "Which serverless policy keeps the SLO, at what cost?",
        "strict_light",
        (
            Step(
                SERVERLESS,
                "Every policy chooses jobs, vCPUs and vGPUs for each batch, on the same calls. The chart "
                "sets kept SLOs against cost.",
                QUICK,
                (("serverless-tabs", "Policies"),),
                "serverless",
            ),
            Step(
                SERVERLESS,
                "How long calls take under each policy, against their SLO.",
                QUICK,
                (("serverless-tabs", "Latency"),),
                "serverless",
            ),
            Step(
                SERVERLESS,
                "One search of ESG, step by step: which configurations it tries, and which rule prunes each "
                "branch.",
                QUICK,
                (("serverless-tabs", "Search"),),
                "serverless",
            ),
            Step(
                SERVERLESS,
                "What the slides on ESG claim, and whether this simulation reproduces it.",
                QUICK,
                (("serverless-tabs", "The slides"),),
                "serverless",
            ),
        ),
    ),
    TRAINING_STORY,
    Story(
        "Do long prompts stall the answers of language models?",
        "prefill_stalls_decode",
        (
            Step(
                SCENARIO,
                "Chat and long documents ask the same engine, which makes all answers token by token. Look "
                "at the lengths, and at how many tokens a step may have.",
            ),
            _engine_step(
                "A step gives a token to every answer that runs. Look for steps with a large part of a "
                "prompt: all answers wait meanwhile.",
                {},
            ),
            _engine_step(
                "The same requests where a step has fewer tokens, so that prompts are split into small "
                "parts. What became of the gaps, and of the first tokens?",
                SMALL_STEPS,
            ),
            Step(
                EVIDENCE,
                "The same simulation beside a run of vLLM that was measured request by request.",
                choices=(("evidence-tabs", "Language models"),),
            ),
        ),
    ),
    Story(
        "How accurate are the results?",
        "vision_language_8_servers",
        (
            Step(
                EVIDENCE,
                "Modelled times against published latencies of whole networks.",
                choices=(("evidence-tabs", "Modelled times"),),
            ),
            Step(
                EVIDENCE,
                "Predicted means against simulated ones, from all local to all spread.",
                choices=(("evidence-tabs", "Prediction"),),
            ),
            Step(
                EVIDENCE,
                "Whether the chosen placements win in simulation.",
                choices=(("evidence-tabs", "Decisions"),),
            ),
            Step(
                EVIDENCE,
                "The paper's evaluation, repeated.",
                choices=(("evidence-tabs", "The paper"),),
            ),
            Step(
                SIMULATION,
                "Every run of yours says how sure it is: prediction, simulated mean with its interval, and "
                "the bound of an idle cluster.",
                QUICK,
                (RUN, ("simulate-tabs", "How sure")),
                "simulate",
            ),
        ),
    ),
    Story(
        "Does batching make splitting pointless?",
        "batches_save_servers",
        (
            _arranged(
                "Two copies of a model share two GPUs, a query at a time. Where is splitting quicker than a "
                "GPU for each copy?",
                "1",
            ),
            _arranged("The same when a GPU runs several queries as a batch. What has changed?", "8"),
            _arranged(
                "The same batches when queries come in bursts. Does splitting pay again?",
                "8",
                "very bursty (CV 3)",
            ),
            Step(
                EVIDENCE,
                "The study behind it, with bursts, and with a model that has most of the queries.",
                choices=(("evidence-tabs", SPLIT_TAB),),
            ),
        ),
    ),
)
