"""The HTML report on training: well formed, of the numbers of the report, of nobody's markup."""

from __future__ import annotations

from training_sample import ABOUT, outcome

from nona.report.html.training import training_html
from nona.report.training.findings import dollars_text, finding, jct_text, runs_sentence
from tests.report.test_html_report import HOSTILE, Page


def test_it_says_what_the_page_says_and_escapes_names() -> None:
    data = outcome()
    told = ABOUT.model_copy(update={"name": HOSTILE, "description": HOSTILE})
    text = training_html(told, data.report, ["A note of the command."])
    page = Page(text)
    assert (page.wrong, page.open) == ([], [])
    assert text == training_html(told, data.report, ["A note of the command."])
    assert "script" not in {tag for tag, _ in page.tags}
    said = " ".join(page.text)
    for sentence in (*finding(data.report.policies), "A note.", "A note of the command."):
        assert sentence in said
    for name, policy in data.report.policies.items():
        (row,) = (r for r in page.rows if r[0] == name and jct_text(policy.jct_s) in r)
        assert dollars_text(policy.cost_usd) in row


def test_an_order_that_is_not_sure_is_said_to_be_so() -> None:
    policies = outcome().report.policies
    assert runs_sentence(policies) == ""  # 2 ± 0.2 h against 3 ± 0.3 h
    names = list(policies)

    def with_interval(of: float | None) -> str:
        changed = {
            n: p.model_copy(
                update={
                    "jct_s": p.jct_s.model_copy(
                        update={"ci95": None if of is None else (p.jct_s.mean - of, p.jct_s.mean + of)}
                    )
                }
            )
            for n, p in policies.items()
        }
        return runs_sentence(changed)

    assert f"The intervals of {names[0]} and {names[1]} overlap" in with_interval(3600.0)
    assert "figures of one run" in with_interval(None)
    assert with_interval(0.0) == ""  # nothing is drawn
    assert runs_sentence({names[0]: policies[names[0]]}) == ""
