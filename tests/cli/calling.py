"""Commands as a script calls them: JSON on standard output, or one line that says what is wrong."""

import json

import click

from nona.cli.main import main, nona
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import dump_scenario, load_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path


def _commands(group, path=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(_commands(nona))  # every command by the words that call it


def answer(out, *words):
    """What a command prints with ``--json``."""
    out.readouterr()
    status = main([*map(str, words), "--json"])
    told = out.readouterr()
    assert status == 0, told.err
    return json.loads(told.out)


def text(out, *words):
    """What a command prints for people."""
    out.readouterr()
    assert main([*map(str, words)]) == 0
    shown = out.readouterr().out
    assert "nan" not in shown.lower().split()
    return shown


def refusal(out, *words):
    """The one line of a command that is refused with status 2 before it prints anything."""
    out.readouterr()
    try:
        status = main([*map(str, words)])
    except SystemExit as stop:
        status = int(stop.code or 0)
    told = out.readouterr()
    assert (status, told.out) == (2, "")
    assert len(told.err.splitlines()) == 1, told.err
    return told.err


def by_formula(folder, name):
    """The file of a shipped scenario that is placed by formula where it can be: no search is tested."""
    scenario = load_scenario(scenario_path(name))
    beyond = prepare(scenario, Sources(scenario_path(name).parent)).system.beyond_formula
    changes = {"objective": "mean-jct" if beyond else "formula", "plan": None}  # no profile beside the file
    quickly = scenario.model_copy(update=changes)
    (folder / f"{name}.yaml").write_text(dump_scenario(quickly), encoding="utf-8")
    return str(folder / f"{name}.yaml")


ONE_MODEL = """
version: 1
name: "<script>small</script>"
cluster: {servers: [{count: 2, gpu: l4}]}
workload: [{model: one, rate: 300, slo: 40 ms, service_scv: 1}]
models:
  one: {directed: true, nodes: [{id: a, compute_ms: {l4: 10.0}}], edges: []}
simulation: {jobs: 800}
"""

# A question on the shares of three training jobs.
QUESTION = {
    "workers": {"v100": 1, "k80": 1, "p100": 0},
    "jobs": [
        {"name": "a", "throughputs": {"v100": 40, "k80": 10, "p100": 20}, "remaining_steps": 4000},
        {"name": "b", "throughputs": {"v100": 12, "k80": 4}, "remaining_steps": 1000},
        {"name": "c", "throughputs": {"v100": 100, "k80": 50}, "remaining_steps": 9000},
    ],
    "prices": {"v100": 2.5, "k80": 0.5},
}
PAIRED = {**QUESTION, "pairs": [{"jobs": ["c", "a"], "throughputs": {"v100": [90, 35]}}]}


def changed(**job):
    first, *others = QUESTION["jobs"]
    return {**QUESTION, "jobs": [{**first, **job}, *others]}
