"""The shipped files of a running server: what is asked of them, and the scenario that they make."""

from nona.app.session.imported import SAMPLE, SAMPLE_ANSWERS
from nona.deployment.files import given_files
from nona.deployment.importing import import_files
from nona.models.graph.node_link import from_node_link
from nona.models.graph.readers import read_model
from nona.scenario.file import parse_scenario
from nona.scenario.sample_files import sample_root, shipped_scenario

FILES = given_files([sample_root() / "deployments" / SAMPLE])


def test_only_the_batch_of_the_load_test_and_the_slo_are_left_to_people():
    open_ = import_files(FILES)
    answered = import_files(FILES, {"documents.batch": "1"})
    assert set(SAMPLE_ANSWERS) <= {fact.key for fact in open_.facts.asked}
    assert [fact.key for fact in answered.facts.asked] == ["documents.slo"]


def test_the_files_make_the_shipped_scenario():
    made = import_files(FILES, SAMPLE_ANSWERS)
    assert made.whole
    scenario, shipped = parse_scenario(made.text), shipped_scenario("documents_as_deployed")
    assert scenario.cluster == shipped.cluster
    (row,), (own,) = scenario.workload, shipped.workload
    assert row.model_copy(update={"model": own.model}) == own
    graph = read_model(made.files["documents.json"], "documents.json", guarded=False)
    inline = from_node_link(shipped.models["documents"], "documents")
    assert {o.id: o.compute_s for o in graph.operators} == {o.id: o.compute_s for o in inline.operators}
    assert {(e.source, e.target, e.tensor, e.size_bytes) for e in graph.edges} == {
        (e.source, e.target, e.tensor, e.size_bytes) for e in inline.edges
    }
