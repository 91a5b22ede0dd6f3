"""The guard before the app: foreign hosts and origins, headers, cookies, the login."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
import requests
from streamlit import config, net_util
from streamlit.web.server.server_util import is_url_from_allowed_origins

from nona.serving.access import write_password
from nona.serving.settings import Serving
from nona.ui.server.application import look_up_nothing
from nona.ui.server.guard import GUESSES, PATH, TABS, Guard
from nona.ui.session.cookie import cookie_name, is_token, new_token

T = TypeVar("T")


def _run(work):
    """The result of ``work``, in a thread of its own: a browser's tests leave a loop in this one."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


HERE = ("host", "localhost:8501")
PASSWORD = "correct horse battery"


class Server:
    """The guard before an app that says yes; ``tokens`` are the workspaces that the app was asked for."""

    def __init__(self, **settings):
        self.tokens: list[str | None] = []
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
        sent: list[Any] = []

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

    def listen(address):
        config.set_option("server.address", address)

    listen("127.0.0.1")
    yield listen
    config.set_option("server.address", before)


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
    assert (
        named.status(("host", "plan.example.com"), ("origin", "https://plan.example.com"), kind=kind) == good
    )


def test_no_look_up_leaves_the_machine(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(requests, "get", lambda url, **_: asked.append(url))
    monkeypatch.setattr(net_util, "_external_ip", None)
    assert not is_url_from_allowed_origins("http://evil.example")
    assert asked  # this is what Streamlit does by itself
    asked.clear()
    look_up_nothing()
    assert not is_url_from_allowed_origins("http://evil.example")
    assert not asked


def test_every_answer_carries_the_headers():
    server = Server()
    for headers in (server.headers(HERE), server.headers(("host", "evil.example"))):
        policy = headers["content-security-policy"]
        scripts = next(rule for rule in policy.split("; ") if rule.startswith("script-src"))
        assert "'unsafe-inline'" not in scripts
        assert "'unsafe-eval'" not in scripts
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'self'" in policy
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"


def test_a_browser_gets_one_cookie_and_keeps_it():
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


def test_a_socket_without_a_cookie_gets_one_that_the_app_sees():
    server = Server()
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


def test_without_a_password_only_this_machine_is_answered(listening):
    for address in ("0.0.0.0", "::", "192.168.0.7"):
        listening(address)
        assert Server().status(("host", "192.168.0.7:8501")) == 403
        assert Server().status(HERE) == 403


def test_the_password_opens_a_server_and_guesses_are_few(listening, tmp_path):
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
