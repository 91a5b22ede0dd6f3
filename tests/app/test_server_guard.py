"""The server before the app: hosts, origins, cookies and the login are guarded; runs in order."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
import requests
from streamlit import __version__, config, net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.web.server.server_util import is_url_from_allowed_origins

from nona.app.server import streamlit_private
from nona.app.server.access import write_password
from nona.app.server.browser import cookie_name, is_token, new_token
from nona.app.server.guard import GUESSES, PATH, TABS, Guard
from nona.app.server.settings import Serving


def _run(work):
    """The result of ``work``, in a thread of its own: a browser's tests leave a loop in this one."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


HERE = ("host", "localhost:8501")
PASSWORD = "correct horse battery"


class Server:
    """The guard before an app that says yes; ``tokens`` are the workspaces that the app was asked for."""

    def __init__(self, **settings):
        self.tokens = []
        self.guard = Guard(self._yes, Serving(Path("unused"), **settings))

    async def _yes(self, scope, receive, send):
        cookies = dict(v.decode().split("=", 1) for k, v in scope["headers"] if k == b"cookie")
        self.tokens.append(cookies.get(cookie_name()))
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept", "headers": []})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"yes"})

    async def ask(self, *headers, kind="http", **more):
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            return {"type": "http.request", "body": more.get("body", b"")}

        scope = {
            "type": kind,
            "method": more.get("method", "GET"),
            "path": more.get("path", "/"),
            "scheme": "http",
            "query_string": more.get("query", "").encode(),
            "client": (more.get("peer", "127.0.0.1"), 5),
            "headers": [(k.encode(), v.encode()) for k, v in headers],
        }
        await self.guard(scope, receive, send)
        return sent

    def status(self, *headers, **more):
        first = _run(self.ask(*headers, **more))[0]
        return int(first.get("status", 403 if first["type"] == "websocket.close" else 101))

    def headers(self, *headers, **more):
        first = _run(self.ask(*headers, **more))[0]
        return {k.decode(): v.decode() for k, v in first["headers"]}


@pytest.fixture(autouse=True)
def listening():
    """Sets the address that the server listens on."""
    before = config.get_option("server.address")

    listen = partial(config.set_option, "server.address")
    listen("127.0.0.1")
    yield listen
    listen(before)


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_foreign_host_or_origin_is_refused(kind):
    server = Server()
    good = 101 if kind == "websocket" else 200
    assert server.status(HERE, kind=kind) == good
    assert server.status(HERE, ("origin", "http://localhost:8501"), kind=kind) == good
    # DNS rebinding: a name of others that leads here, with the origin that belongs to it.
    rebound = [("host", "evil.example:8501"), ("origin", "http://evil.example:8501")]
    assert server.status(*rebound, kind=kind) == 403
    for origin in ("http://evil.example", "http://localhost:9999", "null", "https://localhost.evil.example"):
        assert server.status(HERE, ("origin", origin), kind=kind) == 403
    for host in ("", "localhost@evil.example", "localhost:8501/x", "localhost:99999"):
        assert server.status(("host", host), kind=kind) == 403
    named = Server(hosts=("plan.example.com",))
    own = [("host", "plan.example.com"), ("origin", "https://plan.example.com")]
    assert named.status(*own, kind=kind) == good


def test_no_look_up_leaves_the_machine(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(requests, "get", lambda url, **_: asked.append(url))
    monkeypatch.setattr(net_util, "_external_ip", None)
    assert not is_url_from_allowed_origins("http://evil.example")
    assert asked  # this is what Streamlit does by itself
    asked.clear()
    streamlit_private.look_up_nothing()
    assert not is_url_from_allowed_origins("http://evil.example")
    assert not asked


def test_every_answer_carries_the_headers():
    server = Server()
    for headers in (server.headers(HERE), server.headers(("host", "evil.example"))):
        policy = headers["content-security-policy"]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert not re.search("'unsafe-(inline|eval)'", rules["script-src"])
        assert (rules["frame-ancestors"], rules["default-src"].split()[0]) == ("'none'", "'self'")
        assert (headers["referrer-policy"], headers["x-frame-options"]) == ("same-origin", "DENY")


def test_a_browser_gets_one_cookie_keeps_it_and_the_app_sees_that_of_a_socket():
    server = Server()
    page = (HERE, ("accept", "text/html,*/*"))
    cookie = server.headers(*page)["set-cookie"]
    token = cookie.partition("=")[2].partition(";")[0]
    assert is_token(token)
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie
    own = ("cookie", f"{cookie_name()}={token}")
    assert token in server.headers(*page, own)["set-cookie"]
    assert "set-cookie" not in server.headers(HERE, ("accept", "image/png"))
    forwarded = ("x-forwarded-proto", "https")
    assert "Secure" in server.headers(*page, forwarded)["set-cookie"]
    assert "Secure" not in server.headers(*page, forwarded, peer="10.0.0.9")["set-cookie"]
    for given in ((), (("cookie", f"{cookie_name()}=guess"),)):
        cookie = server.headers(HERE, *given, kind="websocket")["set-cookie"]
        assert server.tokens[-1] == cookie.partition("=")[2].partition(";")[0]
        assert is_token(server.tokens[-1])


def test_sockets_of_one_browser_are_bounded():
    server = Server()
    inner, held = server.guard._app, asyncio.Event()

    async def staying(scope, receive, send):
        await inner(scope, receive, send)
        await held.wait()

    async def many():
        server.guard._app = staying
        own = ("cookie", f"{cookie_name()}={new_token()}")
        tasks = [asyncio.create_task(server.ask(HERE, own, kind="websocket")) for _ in range(TABS + 2)]
        await asyncio.sleep(0)
        held.set()
        return [sent[0]["type"] for sent in await asyncio.gather(*tasks)]

    kinds = _run(many())
    assert kinds.count("websocket.accept") == TABS
    assert kinds.count("websocket.close") == 2


def test_only_this_machine_is_answered_but_with_a_password_of_which_guesses_are_few(listening, tmp_path):
    for address in ("0.0.0.0", "::", "192.168.0.7"):
        listening(address)
        assert Server().status(("host", "192.168.0.7:8501")) == 403
        assert Server().status(HERE) == 403
    listening("0.0.0.0")
    write_password(file := tmp_path / "p.json", PASSWORD)
    server = Server(password_file=file)
    assert PASSWORD not in file.read_text()
    there = (("host", "192.168.0.7:8501"), ("origin", "http://192.168.0.7:8501"))
    assert server.status(*there) == 401
    assert server.status(*there, kind="websocket") == 403
    assert server.status(*there, path="/_stcore/health") == 200
    assert server.status(("host", "evil.example")) == 403  # a name, on a server that has none

    def log_in(password, peer="10.0.0.9", to=""):
        body = urlencode({"password": password}).encode()
        given = {"path": PATH, "method": "POST", "body": body, "peer": peer, "query": urlencode({"to": to})}
        sent = _run(server.ask(*there, **given))
        return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}

    status, headers = log_in(PASSWORD)
    assert status == 303
    cookie = ("cookie", headers["set-cookie"].partition(";")[0])
    assert "HttpOnly" in headers["set-cookie"]
    assert server.status(*there, cookie) == 200
    assert server.status(*there, cookie, kind="websocket") == 101
    forged = ("cookie", cookie[1][:-1] + ("0" if cookie[1][-1] != "0" else "1"))
    assert server.status(*there, forged) == 401
    assert [log_in("wrong " * 3)[0] for _ in range(GUESSES + 1)] == [401] * GUESSES + [429]
    assert log_in(PASSWORD)[0] == 429
    for to, leads in (("/cluster?s=1.x", "/cluster?s=1.x"), ("//evil.example", "/"), ("/\\evil", "/")):
        assert log_in(PASSWORD, peer="10.0.0.11", to=to)[1]["location"] == leads
    page = _run(server.ask(*there, ("accept", "text/html"), path="/cluster", query='s="><script>'))
    assert b"to=%2Fcluster%3Fs%3D" in page[1]["body"]
    assert b"<script>" not in page[1]["body"]
    assert log_in(PASSWORD, peer="10.0.0.10")[0] == 303
    write_password(file, "another password")
    assert server.status(*there, cookie) == 401  # a changed password ends all logins
    file.write_text("{}")
    assert server.status(*there, cookie) == 401


def test_a_proxys_header_is_believed_from_the_proxy_alone(listening):
    listening("10.0.0.1")
    server = Server(user_header="X-Remote-User", proxies=("10.0.0.2",), hosts=("plan.example.com",))
    page = (("host", "plan.example.com"), ("x-remote-user", "ada"))
    assert server.status(*page, peer="10.0.0.2") == 200
    assert server.status(*page, peer="10.0.0.3") == 401
    assert server.status(page[0], peer="10.0.0.2") == 401


async def request(requested, requests, fragment=""):
    """A session whose runner has these requests, asked for a run; ``requested``: what reached Streamlit."""
    runner = None if requests is None else SimpleNamespace(_requests=requests)
    session = SimpleNamespace(_scriptrunner=runner, _event_loop=asyncio.get_running_loop())
    streamlit_private._after_the_last(lambda session, state: requested.append(state))(
        session, ClientState(cached_message_hashes=["held"], fragment_id=fragment)
    )
    return session


def test_a_request_waits_for_the_messages_of_a_run_that_has_ended_and_others_go_on_at_once():
    requested = []

    async def story():
        requests = ScriptRequests()
        requests.request_stop()  # as a run's thread does when nothing is left to run
        session = await request(requested, requests)
        await asyncio.sleep(5 * streamlit_private.LOOK_AGAIN_S)
        assert requested == []
        session._scriptrunner = None  # the last message of the run was taken in
        while not requested:
            await asyncio.sleep(streamlit_private.LOOK_AGAIN_S)

    _run(asyncio.wait_for(story(), 60))
    assert [list(state.cached_message_hashes) for state in requested] == [[]]  # the browser may forget it
    for held in (None, ScriptRequests()):  # no run, and a run that still writes: they go on at once
        requested.clear()
        _run(request(requested, held))
        _run(request(requested, held, "polls"))
        assert [list(state.cached_message_hashes) for state in requested] == [["held"], []]


def message(page, fragment=""):
    return BackMsg(rerun_script=ClientState(page_script_hash=page, fragment_id=fragment))


@pytest.mark.parametrize(
    ("shown", "messages", "order"),
    [
        ("old", [message("new"), message("old")], ["old", "new"]),
        ("old", [message("new"), message("third"), message("old", "polls")], ["old", "new", "third"]),
        ("", [message("new"), message("old")], ["new", "old"]),
        ("old", [message("new"), BackMsg(load_git_info=True)], [None, "new"]),
    ],
    ids=["a late value", "two changes of page", "the first run", "no run"],
)
def test_a_change_of_page_waits_for_a_value_typed_before_it(shown, messages, order):
    handled = []

    def handle(_, taken):
        run = taken.WhichOneof("type") == "rerun_script"
        handled.append(taken.rerun_script.page_script_hash if run else None)

    async def story():
        session = SimpleNamespace(page_script_hash=shown, _event_loop=asyncio.get_running_loop())
        for each in messages:
            streamlit_private._page_after_its_values(handle)(session, each)
        while len(handled) < len(messages):
            await asyncio.sleep(streamlit_private.LATE_VALUE_S / 4)

    _run(asyncio.wait_for(story(), 60))
    assert handled == order


def client(polls):
    """A request of the browser while a button is pressed and a slider stands at 3."""
    state = ClientState(is_auto_rerun=polls)
    state.widget_states.widgets.add(id="next", trigger_value=True)
    state.widget_states.widgets.add(id="menu", string_trigger_value={"data": "2"})
    state.widget_states.widgets.add(id="keys", json_trigger_value='["right"]')
    state.widget_states.widgets.add(id="slider", int_value=3)
    return state


@pytest.mark.parametrize(
    ("polls", "brought"), [(True, ["slider"]), (False, ["next", "menu", "keys", "slider"])]
)
def test_a_press_comes_with_its_own_request_only(monkeypatch, polls, brought):
    requested = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, state: requested.append(state))
    streamlit_private.keep_in_order()
    AppSession.request_rerun(SimpleNamespace(_scriptrunner=None), client(polls))
    assert [w.id for state in requested for w in state.widget_states.widgets] == brought


def asked(page, fragment=None):
    return RerunData(page_script_hash=page, query_string=f"of={page}", fragment_id=fragment)


@pytest.mark.parametrize("first", [asked("new"), asked("old", "polls")], ids=["page first", "fragment first"])
def test_a_polling_fragment_leaves_a_page_that_waits_alone(first):
    second = asked("old", "polls") if first.fragment_id is None else asked("new")
    requests = ScriptRequests()
    ask = streamlit_private._page_of_the_waiting(ScriptRequests._request_rerun_locked)
    assert [ask(requests, each) for each in (first, second)] == [True, True]
    ready = requests.on_scriptrunner_ready().rerun_data
    assert (ready.page_script_hash, ready.query_string, ready.fragment_id_queue) == ("new", "of=new", [])


@pytest.mark.parametrize(
    ("request_", "page"),
    [(asked("old", "polls"), "new"), (asked("old"), "old")],
    ids=["a fragment", "a whole page"],
)
def test_a_fragment_runs_on_the_page_that_is_shown(request_, page):
    ran = []
    shown = SimpleNamespace(page_script_hash="new", query_string="of=new")
    runner = SimpleNamespace(_get_script_run_ctx=lambda: shown)
    streamlit_private._on_the_present_page(lambda _, data: ran.append(data))(runner, request_)
    assert [(data.page_script_hash, data.query_string) for data in ran] == [(page, f"of={page}")]


def test_a_second_call_changes_nothing(monkeypatch):
    changed = [
        (AppSession, "request_rerun"),
        (AppSession, "handle_backmsg"),
        (ScriptRequests, "_request_rerun_locked"),
        (ScriptRunner, "_run_script"),
    ]
    for owner, name in changed:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    streamlit_private.keep_in_order()
    once = [getattr(owner, name) for owner, name in changed]
    streamlit_private.keep_in_order()
    assert [getattr(owner, name) for owner, name in changed] == once


def test_the_private_methods_that_are_replaced_are_those_of_this_streamlit():
    version = ".".join(__version__.split(".")[:2])
    assert version == streamlit_private.VERSION, (
        f"Streamlit {version}: nona/app/server/streamlit_private.py replaces methods of "
        f"{streamlit_private.VERSION}; drop what this version has mended, then raise VERSION there."
    )
