"""A session's next run begins once the browser has been sent what the run before wrote.

A run writes from a thread of its own; what it writes is sent later, by the server's event loop. Streamlit
1.67 lets a request that comes in between start a new run at once, and then throws away what was not sent yet.
Where the request is that of a polling fragment, which writes only its own part, the rest of the page never
comes: the browser reports "Bad delta path", and the page stays broken. The busier the machine, the longer
that window.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

LOOK_AGAIN_S = 0.005  # seconds


def send_before_next_run() -> None:
    """Make every session of this process wait for what its last run wrote; a second call changes nothing."""
    if not hasattr(AppSession.request_rerun, "__wrapped__"):
        AppSession.request_rerun = _in_order(AppSession.request_rerun)  # type: ignore[method-assign]


def _in_order(request_rerun: Any) -> Any:
    """Streamlit's ``AppSession.request_rerun``, called again while the last run's messages are on their way.

    The runner of a run that has ended stays the session's until its last message was taken in.
    """

    @wraps(request_rerun)
    def waiting(session: Any, client_state: Any) -> None:
        runner = session._scriptrunner
        if runner is not None and runner._requests._state is ScriptRequestType.STOP:
            session._event_loop.call_later(LOOK_AGAIN_S, waiting, session, client_state)
        else:
            request_rerun(session, client_state)

    return waiting
