"""Kill −9 of a real server: the browser that worked on it finds its work on the next one."""

import json
import time
from http.client import HTTPConnection

import browser_tools as tools
import pytest

pytestmark = pytest.mark.browser
GRAPH = {"directed": True, "nodes": [{"id": "a", "compute_ms": 2.0}], "edges": []}
SAVED_S = 5.0  # after the last change


def answered(port, path, **headers):
    """Status, headers and seconds of one answer."""
    begun = time.monotonic()
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    found = {k.lower(): v for k, v in answer.getheaders()}
    connection.close()
    return answer.status, found, time.monotonic() - begun


@pytest.mark.verify
def test_a_server_refuses_foreign_pages_at_once(own_app):
    port = own_app.port
    own = f"127.0.0.1:{port}"
    socket = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    socket["Sec_WebSocket_Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
    status, headers, _ = answered(port, "/", Accept="text/html")
    assert status == 200
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "HttpOnly" in headers["set-cookie"]
    assert answered(port, "/", Host="evil.example")[0] == 403
    stream = "/_stcore/stream"
    assert answered(port, stream, Host=own, Origin=f"http://{own}", **socket)[0] == 101
    evil = f"evil.example:{port}"
    for host, origin in ((own, "http://evil.example"), (own, "http://127.0.0.1:1"), (evil, f"http://{evil}")):
        status, _, took = answered(port, stream, Host=host, Origin=origin, **socket)
        assert status == 403
        assert took < 5.0


def test_work_is_there_after_kill_minus_nine(own_app):
    page = own_app.page
    tools.fill_text(page, "Scenario", "Survives")
    tools.open_page(page, "Models")
    tools.upload_model(page, "tiny.json", json.dumps(GRAPH).encode())
    tools.wait_idle(page)
    page.get_by_text("tiny.json").first.wait_for()
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "200")
    tools.fill_number(page, "Replications", "2")
    tools.run_to_the_end(page)
    page.get_by_role("button", name="Save this run").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Save again").wait_for()
    page.keyboard.press("Escape")
    tools.wait_idle(page)
    time.sleep(SAVED_S)
    own_app.kill_and_start_again()
    page.reload()
    tools.wait_idle(page)
    assert page.get_by_role("textbox", name="Scenario", exact=True).input_value() == "Survives"
    page.get_by_text("Run 1 · version").first.wait_for()
    assert page.get_by_text("could not be").count() == 0
    tools.open_page(page, "Runs")
    page.get_by_role("checkbox", name="Survives", exact=True).wait_for()
    tools.open_page(page, "Models")
    tools.pick_model(page, "tiny.json")
    assert "workspace" not in page.url
    for _ in range(3):  # jobs, replications, then the name
        page.get_by_role("button", name="Undo").click()
        tools.wait_idle(page)
    page.wait_for_function("() => document.querySelector('[aria-label=Scenario]').value === 'My scenario'")
    folders = list((own_app.folder / "data" / "workspaces").iterdir())
    cookie = next(c for c in own_app.context.cookies() if c["name"].startswith("nona_workspace_"))
    assert len(folders) == 1
    assert cookie["value"] not in str(folders)
