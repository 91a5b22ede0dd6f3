"""Names that are HTML or Markdown, in a real browser: nothing they say is fetched, linked or run."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from browser_tools import RESULT_MS, open_page, shot, wait_idle
from test_files import opened

EVIL = "[a](http://evil.example)<img src=http://evil.example/x.png onerror='window.hurt=1'>"
DEVICE = EVIL.replace("/", "")  # a device's name has none
DEEP = """() => { const found = [], walk = root => { for (const e of root.querySelectorAll('*')) {
    for (const name of ['src', 'href', 'action', 'onerror', 'onclick'])
      if ((e.getAttribute(name) || '').match(/evil|hurt/)) found.push(e.outerHTML.slice(0, 300));
    if (e.shadowRoot) walk(e.shadowRoot); } };
  walk(document); return window.hurt ? ['script ran', ...found] : found }"""
QUERIES = {
    "cluster": {"servers": [{"count": 2, "gpu": DEVICE}], "devices": {DEVICE: {"base": "t4"}}},
    "workload": [{"model": EVIL, "name": EVIL, "rate": 5, "slo": "1 s"}],
    "schedulers": ["nona", "local"],
}
SERVERLESS = {
    "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}]},
    "workload": [{"model": EVIL, "name": EVIL, "rate": 5, "slo": "1 s"}],
    "serverless": {
        "slo_factor": 5,
        "functions": {EVIL: {"gpu": {"per_query": 0.01}, "source": EVIL}},
        "policies": ["esg"],
    },
}
TRAINING = {
    "cluster": {"servers": [{"count": 2, "gpu": "v100"}]},
    "workload": [],
    "training": {
        "jobs": [{"name": f"{EVIL}{i}", "steps": 1e5, "model": "A3C", "entity": EVIL} for i in range(3)],
        "entities": {EVIL: {}},
        "regions": {"groups": {EVIL: [0]}},
        "policies": ["fifo"],
    },
}
NODES = [{"id": f"{EVIL}{i}", "compute_ms": 9, "function": EVIL} for i in range(3)]
MODEL = {"nodes": NODES, "edges": [{"source": NODES[0]["id"], "target": NODES[1]["id"], "bytes": 1e5}]}
COMMON = {"name": EVIL, "simulation": {"jobs": 100, "replications": 2}}


KINDS = {"Placement": "place", "Simulation": "simulate", "Serverless": "serverless", "Training": "training"}


def run(page: Any, kind: str) -> None:
    """Start the page's job and wait until its result stands."""
    page.locator(f".st-key-run-{kind} button").click()
    page.locator(f".st-key-cancel-{kind}").wait_for(state="detached", timeout=RESULT_MS)
    wait_idle(page)
    page.get_by_role("tab").first.wait_for()


@pytest.mark.parametrize(
    ("parts", "runs", "pages"),
    [
        (QUERIES, "Placement Simulation", "Overview Models Contraction Cluster Workload"),
        (SERVERLESS, "Serverless", "Overview"),
        (TRAINING, "Training", "Overview Cluster"),
    ],
    ids=["queries", "serverless", "training"],
)
def test_names_stay_text(app_page: Any, parts: dict[str, Any], runs: str, pages: str) -> None:
    models = {} if parts is TRAINING else {"models": {EVIL: MODEL}}
    opened(app_page, "evil.yaml", yaml.safe_dump({**COMMON, **models, **parts}).encode())
    for name in (*pages.split(), *runs.split()):
        open_page(app_page, name)
        if name in runs.split():
            run(app_page, KINDS[name])
        tabs = app_page.get_by_role("tab")
        for number in range(tabs.count()):
            tabs.nth(number).click()
            wait_idle(app_page)
            assert app_page.evaluate(DEEP) == [], (name, tabs.nth(number).inner_text())
        assert ".example" in app_page.get_by_test_id("stMain").inner_text()  # the scenario was opened
        assert app_page.evaluate(DEEP) == [], name
        shot(app_page, f"names-{name}")
