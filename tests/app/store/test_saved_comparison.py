"""Saved results beside each other: paired where they are of the same jobs; times of a measure in one unit."""

import pytest
from saved_things import FACTS

from nona.app.store import families
from nona.app.store.report import answers, answers_figure
from nona.app.store.saved_results import SavedAnswer, SavedComparison, SavedItem
from nona.core.document import Estimate
from nona.core.statistics import paired_difference
from nona.queries.workflows.placement_outcome import placement_outcome
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import place
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.sample_files import scenario_path


def solved(seed=7, capacity="25 Gbit/s"):
    """A placement of the smallest sample with that seed and link."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example"))) | {"seed": seed}
    data["cluster"] = data["cluster"] | {"network": {"capacity": capacity}}
    study = prepare(scenario_from_mapping(data))
    return placement_outcome(study, place(study), "today")


def test_results_of_one_seed_are_paired_by_replication():
    first, same, other = solved(), solved(capacity="1 Gbit/s"), solved(seed=8)
    found = families.PLACEMENT.compare([first, same, other])
    assert found.notes[1].startswith("Paired by replication")
    assert "another seed" in found.notes[2]
    local = next(a for a in found.answers if (a.subject, a.measure) == ("local", "mean JCT"))
    runs = [of.local.simulated.run_means for of in (first, same, other)]
    paired = paired_difference(runs[1], runs[0]).difference
    assert local.changes[1].ci95 == pytest.approx(paired.ends)
    apart = families.change(*(families.estimate_of(of.local) for of in (first, other)))
    assert local.changes[2] == apart
    assert paired.half_width < (apart.ci95[1] - apart.ci95[0]) / 2


def comparison(*names, **times_s):
    """Items of these names with a mean time for each subject in every item."""
    known = {"id": "0" * 16, "kind": "placement", "note": "", "saved_at": "2026-01-01", "size_bytes": 1}
    items = tuple(SavedItem(name=n, imported=False, mine=True, facts=FACTS, **known) for n in names)
    rows = tuple(
        SavedAnswer(
            subject=subject,
            measure="mean JCT",
            unit="s",
            values=tuple(Estimate(mean=v, ci95=None) for v in values),
            changes=tuple(Estimate(mean=v - values[0], ci95=None) for v in values),
            clear=(False,) * len(values),
        )
        for subject, values in times_s.items()
    )
    return SavedComparison(items=items, scenario=((),) * len(items), notes=("",) * len(items), answers=rows)


def test_times_of_a_measure_have_one_unit_and_runs_names_that_differ():
    both = comparison(
        "Vision and language on eight servers, seed 7", "Vision and language on eight servers, seed 8",
        nona=(0.9, 1.2), local=(1.8, 0.6),
    )  # fmt: skip
    assert [(row["1"], row["2"], row["2 − 1"]) for row in answers(both).texts()] == [
        ("0.9 s", "1.2 s", "+0.3 s"),
        ("1.8 s", "0.6 s", "-1.2 s"),
    ]
    first, second = (t.name.partition(" · ")[2] for t in answers_figure(both).data if t.showlegend)
    assert first != second
    assert first.startswith("Vision")
