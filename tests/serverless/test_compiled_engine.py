"""The compiled engine leaves the records of the plain one, bit for bit."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st
from reference_cases import PLAIN, plain_options, systems
from serverless_cases import assert_equal, told
from sizes import examples

from nona.serverless.engine.compiled.machine import suits
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.policies.registry import get_policy, policy_names
from nona.simulation.run import Cancelled

QUIET = {"suppress_health_check": list(HealthCheck)}
RUN = RunOptions(calls=150, warmup=20, stories=8, snapshot_s=0.7)


def counted(system):
    """The same, as the compiled engine can simulate it."""
    sharing = system.sharing.model_copy(update={"mode": "mig-counter"})
    return replace(system, sharing=sharing, dispatch=system.dispatch.model_copy(update={"late": "keep"}))


def compare(system, policy, options, run=RUN):
    """Both engines; the compiled one must be able to."""
    assert suits(system)
    plain, compiled = (
        simulate_serverless(system, policy, options, replace(run, engine=engine))
        for engine in ("plain", "compiled")
    )
    assert_equal(plain, compiled)


@given(system=systems(), options=plain_options(), replication=st.integers(0, 1))
@examples(60, **QUIET)
def test_engines_agree(system, options, replication):
    system = counted(system)
    note(f"{system.dispatch} {system.containers} noise={system.noise}")
    compare(system, PLAIN, options, replace(RUN, replication=replication))


@pytest.mark.parametrize("name", [name for name in policy_names() if name != "aquatope"])
@given(system=systems())
@examples(10, **QUIET)
def test_engines_agree_on_the_policies_that_ship(name, system):
    compare(counted(system), get_policy(name), {})


def _broken(ask):
    raise ZeroDivisionError(ask.length)


@given(system=systems())
@examples(3, **QUIET)
def test_what_a_planner_raises_comes_out(system):
    with pytest.raises(ZeroDivisionError):
        simulate_serverless(counted(system), told(_broken), {}, replace(RUN, engine="compiled"))


@given(system=systems())
@examples(3, **QUIET)
def test_progress_is_the_same_and_may_cancel(system):
    system, heard = counted(system), {"plain": [], "compiled": []}
    for engine, kept in heard.items():
        simulate_serverless(system, PLAIN, {}, replace(RUN, engine=engine), kept.append)
    assert heard["plain"] == heard["compiled"] != []

    def cancel(progress):
        raise Cancelled

    with pytest.raises(Cancelled):
        simulate_serverless(system, PLAIN, {}, replace(RUN, engine="compiled"), cancel)
