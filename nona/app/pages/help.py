"""The Help page: how to do things, with the way there; terms, limits, all else; formulas last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from nona.app.guide import TERMS, Section, sections
from nona.app.session.kept import choose
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.widgets.fields import plain
from nona.cluster.hardware.device import devices, links
from nona.cluster.prices import listed_prices
from nona.core.tables import per_hour
from nona.core.text import query_words
from nona.core.units import format_bandwidth, format_size, format_time
from nona.scenario.keys import matching_keys

MOST_KEYS = 12  # of a scenario, that are listed
FIND = "guide-find"  # the field for words to look for, and what brings them in the address
# What a reader who wants to do something opens last.
LAST = ("contraction", "placement", "choice", "simulator", "statistics", "serverless", "training")


@dataclass(frozen=True, slots=True)
class HowToEntry:
    """A question with its answer in a line, the page where it is done, and what is open there.

    ``also``: other words by which people look for it.
    """

    question: str
    answer: str
    page: str
    choices: tuple[tuple[str, str], ...] = ()
    also: str = ""

    @property
    def words(self) -> str:
        """All by which it is found."""
        return f" {self.question} {self.answer} {self.also}".casefold().replace("*", "")


HOW_TO = (
    HowToEntry("use my own model?", "Drop its file on the window; weights are not read.", "models"),
    HowToEntry(
        "see whether splitting a query can help?",
        "*What it could gain* names the most that it saves over your link.",
        "models",
        (("model-view", "What it could gain"),),
    ),
    HowToEntry(
        "watch what is merged, and why?",
        "*Step by step*, then Play: every step states its reason.",
        "models",
        (("model-view", "Step by step"),),
    ),
    HowToEntry(
        "see where the tasks run?",
        "Solve the placement, then *Where they run* on page Models.",
        "models",
        (("model-view", "Where they run"),),
    ),
    HowToEntry("compare two models?", "*Beside another model* draws both, with their figures.", "models"),
    HowToEntry(
        "set rates and targets?",
        "Each model's card has rate, SLO and percentiles.",
        "scenario",
    ),
    HowToEntry(
        "add retrieval before an LLM answer (RAG)?",
        "Add a language model, then choose under *Arrivals* the row that retrieves.",
        "scenario",
    ),
    HowToEntry("slice GPUs?", "*Shared as*: MIG slices, then click the layout.", "scenario"),
    HowToEntry(
        "replay recorded arrivals?", "*Arrival traces* takes a CSV; choose it as *Arrivals*.", "scenario"
    ),
    HowToEntry(
        "make arrivals bursty?",
        "*More on* a row, then *Arrivals*: bursts at a multiple of the rate, or gaps of any CV.",
        "scenario",
        also="bursts, peaks",
    ),
    HowToEntry(
        "set the network, its cards and its load?",
        "*Network* below the servers: capacity, latency, each server's network cards, racks, other traffic.",
        "scenario",
        also="link, NIC, Ethernet, InfiniBand, NVLink",
    ),
    HowToEntry(
        "let GPUs batch queries?", "Open *Batching* below a row, or *Batching of all rows*.", "scenario"
    ),
    HowToEntry("use measured times?", "Open *Times on* and give a table of measured times.", "models"),
    HowToEntry("add a GPU that is not listed?", "Enter it under *Devices of your own*.", "scenario"),
    HowToEntry(
        "know which parts run where?",
        "*Solve the placement* simulates many placements and takes the best.",
        "placement",
    ),
    HowToEntry(
        "know how many servers I need?",
        "*Count servers* finds the fewest that keep the SLOs; in a plan, *Servers to count*.",
        "plan",
    ),
    HowToEntry("compare schedulers?", "Choose schedulers and run: all get the same arrivals.", "simulation"),
    HowToEntry(
        "set an option of a scheduler, such as its number of samples?",
        "*Options* below the choice lists the options of the chosen schedulers, such as jsq-d's number of "
        "samples.",
        "simulation",
        (("simulation-view", "Run"),),
    ),
    HowToEntry(
        "find the load at which it breaks?",
        "*Sweep* varies one number or two.",
        "simulation",
        (("simulation-view", "Sweep"),),
    ),
    HowToEntry(
        "compare with how it was before?", "*Pin as baseline*, change something, run again.", "simulation"
    ),
    HowToEntry(
        "find what to buy?",
        "Choose GPUs and their prices, then *Find the plan*.",
        "plan",
        also="price, cost, budget, rent",
    ),
    HowToEntry(
        "know whether my cluster keeps its SLOs, with more traffic too, and without a server?",
        "*Does it hold?* checks the tightest target, more traffic and lost servers.",
        "simulation",
        (("simulation-view", "Run"),),
    ),
    HowToEntry(
        "see who wins, and what to change?",
        "Below a run's charts: why the best scheduler wins, and what an overloaded one needs.",
        "simulation",
        (("simulation-view", "Run"),),
        also="advice, recommendation, remedy, overload",
    ),
    HowToEntry(
        "import my cluster's files: a Triton repository, nodes, vLLM, metrics, a load test?",
        "Drop the files, folders as a ZIP. *Imported files* shows each fact and asks the rest.",
        "imported",
        also="import, Kubernetes, kubectl, nvidia-smi, Prometheus, KServe, perf_analyzer, AIPerf",
    ),
    HowToEntry(
        "keep, find or share a run?",
        "Page Runs lists finished runs; *Share* makes a file or a link.",
        "runs",
    ),
    HowToEntry(
        "download results?",
        "*Downloads* below a result has tables, reports and traces; the side bar has the scenario.",
        "simulation",
        also="export, save, CSV, PDF, HTML, YAML",
    ),
    HowToEntry(
        "cancel a run?",
        "*Cancel* is beside the progress and in the side bar; the result so far stays.",
        "simulation",
        also="stop, abort",
    ),
    HowToEntry(
        "use a dark theme?",
        "Pages follow the color scheme of your browser or system.",
        "home",
        also="dark mode, light theme, colours",
    ),
    HowToEntry("do the same from a shell?", "*Same from the shell*, on every page with a run.", "simulation"),
    HowToEntry(
        "know how accurate a number is?",
        "Page Evidence has the measured accuracy.",
        "evidence",
        (("evidence-tabs", "Predictions"),),
    ),
)


def matching_how_to(query: str) -> list[HowToEntry]:
    """Return the questions that hold most words of ``query``, and of these the rarest; all for an empty one.

    >>> [entry.question for entry in matching_how_to("dark theme")], matching_how_to("purple theme")
    (['use a dark theme?'], [])
    """
    words = [word.removesuffix("s") for word in query_words(query)]
    holders = {w: [h for h in HOW_TO if f" {w}" in h.words] for w in words}
    held = {h: [w for w, some in holders.items() if h in some] for h in HOW_TO}
    score = {
        h: sum(1 / len(holders[w]) for w in some) for h, some in held.items() if 2 * len(some) > len(words)
    }
    best = max(score.values(), default=0.0)
    return list(HOW_TO) if not words else [h for h, of in score.items() if of == best]


def how_to_list(state: AppState, query: str) -> int:
    """Return the questions that fit ``query``, each with the way there; how many there are."""
    matching = matching_how_to(query)
    if not matching:
        return 0
    st.subheader("How do I …", anchor="how-to")
    with st.grid(2, min_column_width=330):
        for entry in matching:
            with st.container(gap="xxsmall"):
                st.button(
                    f"… {entry.question}",
                    icon=":material/arrow_forward:",
                    type="tertiary",
                    on_click=go_to,
                    args=(state, entry),
                    key=f"how-to-{HOW_TO.index(entry)}",
                    help="Goes there.",
                )
                st.caption(entry.answer)
    return len(matching)


def go_to(state: AppState, entry: HowToEntry) -> None:
    """Open the page of an entry with its choices made."""
    for key, value in entry.choices:
        choose(state, key, value)
    state.go_to = page_file(entry.page)


def in_order(chosen: Sequence[Section]) -> list[Section]:
    """Return the sections in the order of the page: formulas come last."""
    return sorted(chosen, key=lambda section: section.name in LAST)


def every_section() -> list[Section]:
    """All sections, in the order of the page."""
    return in_order(sections())


def matching_hardware(query: str) -> list[str]:
    """Return a line for each GPU and link of the catalogue whose names hold all words.

    None for an empty query.

    >>> [line.partition(":")[0] for line in matching_hardware("nvlink h100")]
    ['**NVLink 4 (H100, H200)** (`nvlink4`)']
    """
    price = {name: f", {plain(per_hour(of.usd_per_hour, 'USD'))}" for name, of in listed_prices().items()}
    about = {
        f"**{gpu.label or name}** (`{name}`)": f"{format_size(gpu.memory_bytes)}, "
        f"{format_size(gpu.bandwidth)}/s{price.get(name, '')}"
        for name, gpu in devices().items()
    } | {
        f"**{link.label}** (`{name}`)": f"{format_bandwidth(link.capacity)}, {format_time(link.latency_s)}"
        for name, link in links().items()
    }
    words = query_words(query)
    return [
        f"{name}: {meaning}."
        for name, meaning in about.items()
        if words and all(word in name.casefold() for word in words)
    ]


def terms_and_keys(query: str, names: Sequence[str]) -> bool:
    """Return the terms of these names, hardware and keys of scenarios that hold the words.

    Whether there are any.
    """
    lines = [*matching_hardware(query), *matching_keys(query)[:MOST_KEYS]]
    if not names and not lines:
        return False
    with st.container(border=True, key="guide-terms"):
        for name in names:
            st.markdown(f"**{plain(name)}**: {plain(TERMS[name])}.")
        for line in lines:
            st.markdown(line)
    return True


def section_list(chosen: Sequence[Section], below: Mapping[str, Callable[[], None]]) -> None:
    """Show the sections, before them links to each where there are several.

    ``below`` draws at a section's end.
    """
    if len(chosen) > 2:
        st.markdown(" · ".join(f"[{s.title}](#{s.name})" for s in chosen))
    for section in chosen:
        with st.container(border=True):
            st.subheader(section.title, anchor=section.name)
            st.markdown(section.text)
            if section.name in below:
                below[section.name]()
