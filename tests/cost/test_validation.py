"""The validation report: recomputed, and as good as the texts claim."""

import math

import numpy as np
import pytest

from nona.cost.costed import SIGMA
from nona.cost.operators import operator_work
from nona.cost.validation import summarise, validation_report
from nona.cost.validation_networks import reference_model
from nona.errors import CostError


def test_summaries_by_a_second_computation():
    report = validation_report()
    rows = [r for r in report.rows if r.use == "counted"]
    measured, predicted = (np.array([getattr(r, k) for r in rows]) for k in ("measured_s", "predicted_s"))
    assert report.overall.mape == pytest.approx(np.mean(np.abs(predicted - measured) / measured))
    assert report.overall.bias == pytest.approx(np.mean(measured / predicted))
    assert report.overall.log_sigma == pytest.approx(np.std(np.log(measured / predicted), ddof=1))
    ranks = [np.array([(np.sum(v < x) + np.sum(v <= x) + 1) / 2 for x in v]) for v in (measured, predicted)]
    assert report.overall.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert sum(g.rows for g in report.groups) == sum(r.use != "shown" for r in report.rows)


def test_what_the_texts_claim():
    """MAPE near 27 %, ranks right, and a spread that the default σ covers."""
    engines = validation_report().tensorrt
    assert engines.rows == 26
    assert engines.mape < 0.30
    assert engines.spearman > 0.9
    assert engines.log_sigma < SIGMA["modelled"] + 0.05
    for s in validation_report().slices:
        assert 1 < s.measured < s.predicted < 4  # slices are better than modelled, never the reverse


def test_every_row_says_its_source_and_every_shown_one_why():
    for row in validation_report().rows:
        assert row.source
        assert row.note or row.use != "shown"
        assert math.isfinite(row.ratio)


def test_a_single_row_has_no_rank():
    row = validation_report().rows[0]
    summary = summarise("one", [row])
    assert math.isnan(summary.spearman)
    assert summary.log_sigma == 0


@pytest.mark.parametrize(
    ("name", "gmac"), [("resnet50", 4.0892), ("bert-base/384", 35.3334), ("llama-7b/512", 3451.5431)]
)
def test_reference_models_do_the_work_of_the_exported_ones(name, gmac):
    """GMAC of the graphs that PyTorch exports."""
    works, warnings = operator_work(reference_model(name))
    assert warnings == ()
    assert sum(w.work.macs for w in works) / 1e9 == pytest.approx(gmac, rel=1e-4)


def test_bert_large_has_its_parameters():
    """335 million in the paper's 24 layers, embeddings included (position rows only as many as tokens)."""
    assert reference_model("bert-large/384").parameter_count == pytest.approx(335e6, rel=0.01)


def test_batch_normalisation_does_not_change_the_products():
    plain, normed = (reference_model(n) for n in ("resnet50", "resnet50+bn"))
    count = [sum(w.work.macs for w in operator_work(g)[0]) for g in (plain, normed)]
    assert count[0] == count[1]
    assert len(normed.operators) - len(plain.operators) == 53


@pytest.mark.parametrize(
    "name", ["vgg", "resnet50/3", "bert-base", "bert-base/0", "bert-base/x", "llama-7b/²"]
)
def test_unknown_reference_models(name):
    with pytest.raises(CostError, match="Reference model"):
        reference_model(name)
