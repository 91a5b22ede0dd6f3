"""What a command cannot do is one line with status 2: it names the value, its rule and the remedy."""

import json

import pytest
from calling import PAIRED, QUESTION, changed, refusal

CLUSTER = "cluster: {servers: [{count: 2, gpu: v100}, {count: 2, gpu: k80}]}"
UTILIZATION = "sweep slides_example --key background.network.utilization --values"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("", "nona: missing command; see `nona --help`"),
        ("study", "nona study: missing command; see `nona study --help`"),
        ("frobnicate", "choose one of app, inspect"),
        ("place", "nona place: missing argument 'SCENARIO'; see `nona place --help`"),
        ("simulate slides_example --jobs", "nona simulate: option '--jobs' requires an argument"),
        ("simulate slides_example --html --json", "--html needs a value before --json"),
        ("simulate slides_example --jobs x", "--jobs 'x' must be a whole number"),
        ("simulate slides_example --workers 0", "--workers 0 must be at least 1; give a larger"),
        ("app --port 65536", "--port 65536 must be at most 65535; give a smaller number"),
        *((f"app --port {port}", "--port") for port in ("0", "-1", "99999", "web")),
        ("devices --jsom", "did you mean '--json'?"),
        ("completion foo", "nona completion: shell 'foo' is not known; give one of bash, zsh, fish"),
        ("inspect no_such_model", "no_such_model"),
        ("inspect nowhere/x.onnx", "x.onnx"),
        ("inspect resnet18 --device abacus", "abacus"),
        ("inspect resnet18 --symbol batch=-1", "name=size"),
        ("inspect --force slides_example", "--force"),  # it writes no file
        ("contract resnet18 --rule magic", "choose one of direct, poset, size-aware"),
        ("place no_such_scenario", "no_such_scenario"),
        ("place slides_example --objective guess", "guess"),
        ("simulate slides_example --scheduler decima", "decima"),
        ("simulate slides_example --jobs 0", "simulation.jobs"),
        ("simulate slides_example --engine steam", "steam"),
        ("simulate slides_example --baseline nobody", "'nobody' is not simulated"),
        ("simulate slides_example --precision 2", "simulation.precision"),
        ("simulate slides_example --max-replications 1", "simulation.max_replications"),
        ("simulate slides_example --warmup soon", "'mser', 'auto' or a whole number"),
        ("simulate slides_example --scheduler makespan", "nona training simulate scenario --policy makespan"),
        ("simulate strict_light --scheduler esg", "nona serverless scenario --policy esg"),
        ("serverless slides_example", "serverless: is missing"),
        ("serverless strict_light --policy nobody", "'nobody' is not known"),
        ("serverless strict_light --sharing half", "serverless.sharing.mode"),
        ("serverless strict_light --calls 0", "--calls 0 must be at least 1"),
        ("serverless strict_light --nodes-for 2", "--nodes-for"),
        ("serverless strict_light --nodes-for apples", "--nodes-for"),
        ("serverless strict_light --times deblur", "name=value"),
        ("study serverless --calls 0", "--calls 0 must be at least 1"),
        ("study serverless --workers 0", "--workers 0 must be at least 1"),
        (f"{UTILIZATION} 0:1:0.5", "must be less than 1"),
        (f"{UTILIZATION} a:b:c", "'a' is not a fraction"),
        (f"{UTILIZATION} 0.1 --scheduler nobody", "nobody"),
        (f"{UTILIZATION} 0.1 --jobs 0", "--jobs 0 must be at least 1"),
        (f"{UTILIZATION} 0 --second load", "give both"),
        (f"{UTILIZATION} 0 --second background.network.utilization --second-values 0.5", "given twice"),
        ("sweep slides_example --key no.where --values 1", "no such key"),
        ("sweep slides_example --key name --values 1", "is not a number"),
        ("sweep strict_light --key cluster.network.capacity --values 1e9", "does not depend on it"),
        ("sweep strict_light --key load --values 1 --second load --second-values 1", "leave out --second"),
    ],
)
def test_what_cannot_be_understood_is_one_line(words, why, capsys):
    assert why.lower() in refusal(capsys, *words.split()).lower()


@pytest.mark.parametrize(
    ("question", "policy", "why"),
    [
        (QUESTION, "nobody", "Policy 'nobody' is not known; choose from max-min-fairness"),
        (QUESTION, "isolated --space-sharing", "leave out --space-sharing"),
        (changed(remaining_steps=None), "makespan", "job 'a' has no remaining_steps; add it"),
        (
            changed(remaining_steps=None, slo=99),
            "cost-slo",
            "remaining_steps; add it to all jobs with an SLO",
        ),
        ({**QUESTION, "prices": {}}, "cost", "type 'k80' has none above 0; add it to prices"),
        ({**QUESTION, "jobs": []}, "makespan", "jobs: [] must have at least 1 entry"),
        ({**QUESTION, "workers": {"v100": 0}}, "makespan", "workers has no GPUs"),
        (changed(name="b"), "makespan", "job 'b' is there twice"),
        (changed(wrokers=2), "makespan", "jobs[0].wrokers: is not a known key"),
        (changed(weight=0), "makespan", "jobs[0].weight: 0 must be greater than 0"),
        (changed(entity="x") | {"entities": {"y": {}}}, "makespan", "entity 'x' is not in entities"),
        (QUESTION | {"pairs": [{"jobs": ["a", "z"], "throughputs": {}}]}, "makespan", "'z' is not in jobs"),
        (QUESTION | {"pairs": [{"jobs": ["a", "a"], "throughputs": {}}]}, "makespan", "with itself"),
        (changed(workers=2) | {"pairs": PAIRED["pairs"]}, "makespan", "the jobs have unequal workers"),
        (changed(weight=-1) | {"workers": {"v100": -2}}, "makespan", "jobs[0].weight"),
        (changed(weight=-1) | {"workers": {"v100": -2}}, "makespan", "workers.v100"),  # all of it at once
        (b"%PDF-1.7", "makespan", "it is a PDF document; give a YAML or JSON file"),
        (b"[1, 2]", "makespan", "Question: it is [1, 2], not a mapping"),
        (b"{a: ", "makespan", "Question: not valid YAML"),
        (None, "makespan", "No such file"),
    ],
)
def test_a_question_on_training_jobs_is_refused_with_its_remedy(question, policy, why, tmp_path, capsys):
    file = tmp_path / "question.yaml"
    if question is not None:
        file.write_bytes(question if isinstance(question, bytes) else json.dumps(question).encode())
    assert why in refusal(capsys, "training", "allocate", file, "--policy", *policy.split())


@pytest.mark.parametrize("command", ["switches", "checkpoints"])
@pytest.mark.parametrize(
    ("part", "why"),
    [
        ("training: {generate: {jobs: 6}, policies: [fifo]}", "failures"),
        ("workload: [{model: resnet18, rate: 1/s}]", "training: is missing"),
    ],
)
def test_what_has_nothing_to_compare_is_refused(part, why, command, tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(f"{CLUSTER}\n{part}\n")
    assert why in refusal(capsys, "training", command, tmp_path / "s.yaml")
