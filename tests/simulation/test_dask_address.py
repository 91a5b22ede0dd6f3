"""Addresses at which no Dask scheduler can answer: one line, at once or within the limit."""

from __future__ import annotations

import socket
import time

import pytest

from nona.cli.main import main
from nona.errors import SimulationError
from nona.simulation.dask_pool import check_address

MALFORMED = [
    "tcp://",
    "garbage",
    "http://127.0.0.1:8786",
    "tls://127.0.0.1:8786",
    "tcp://h:99999",
    "",
    "a\nb:1",
]


@pytest.mark.parametrize("address", MALFORMED)
def test_what_is_no_address_is_refused_at_once_in_one_line(address: str) -> None:
    began = time.monotonic()
    with pytest.raises(SimulationError, match="no scheduler answers at") as caught:
        check_address(address)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 2.0


def test_names_that_no_host_can_have_are_one_line() -> None:
    with pytest.raises(SimulationError, match="no scheduler answers at"):
        check_address("tcp://" + "x" * 300 + ":8786")


def test_a_silent_listener_ends_the_command_within_the_limit_and_in_one_line(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        began = time.monotonic()
        assert main(["simulate", "slides_example", "--jobs", "300", "--dask", address]) == 2
        assert time.monotonic() - began < 15.0  # 5 s, and the scenario with its imports
    err = capfd.readouterr().err
    assert "silent for 5 s" in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_a_port_that_nobody_serves_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(SimulationError, match="refused"):
        check_address(f"127.0.0.1:{port}")
