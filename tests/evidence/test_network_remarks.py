"""The remarks of the slides on what other systems know of the network."""

from dataclasses import replace

from evidence import network_remarks
from evidence.network_remarks import REMARKED, REMARKS, known_remarks
from nona.queries.schedulers.base import VIEW_MEANINGS, NetworkView
from nona.queries.schedulers.registry import SCHEDULERS, get_scheduler


def test_remarks_are_complete_and_appear_with_their_scheduler(monkeypatch):
    assert set(VIEW_MEANINGS) == set(NetworkView)
    for remark in REMARKS.values():
        assert all((remark.system, remark.slides, remark.source))
    before = known_remarks()
    newcomer = replace(REMARKS["sparrow"], scheduler="newcomer", system="Newcomer")
    monkeypatch.setattr(network_remarks, "REMARKS", {**REMARKS, "newcomer": newcomer})
    assert known_remarks() == before
    with SCHEDULERS.registered(replace(get_scheduler("local"), name="newcomer")):
        assert known_remarks() == (*before, newcomer)
        rows = {row["system"]: row for row in REMARKED.fill(known_remarks()).texts()}
        assert rows["Newcomer"]["view here"] == get_scheduler("local").network_view.name
