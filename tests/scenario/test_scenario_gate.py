"""Whatever comes in as a scenario becomes a valid one that can be written again, or one line per problem."""

import time
import zipfile
from base64 import urlsafe_b64encode
from io import BytesIO
from json import dumps
from zlib import compress

import pytest
from hypothesis import given
from hypothesis import strategies as some
from sizes import examples

from nona.errors import ScenarioError
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping, scenario_hash
from nona.scenario.gate import MAX_PROBLEMS
from nona.sources.lookup import Sources
from nona.sources.opening import open_bytes
from nona.ui.session.share import unpack

HEAD = "version: 1\ncluster: {servers: [{count: 2}]}\nworkload: [{model: gpt2, rate: 5}]\n"
NUMBERS = {"hexadecimal": "0x" + "f" * 5000, "binary": "0b" + "1" * 5000, "sexagesimal": "1" + ":10" * 2500}
TAGGED = ('!!int ""', "!!bool x", "!!timestamp x", "!!binary gICA", "!!float x", "2020-01-01", "!!set {a}")
PLACES = (
    "seed: {}",
    "models: {{m.json: {{nodes: [{{id: a, x: {}}}]}}}}",
    "schedulers: [{{nona: {{x: {}}}}}]",
)


def refused(text):
    with pytest.raises(ScenarioError) as caught:
        open_bytes(text.encode("utf-8", "surrogatepass"), "s.yaml", Sources(held={}))
    for line in caught.value.problems:
        assert line.isprintable(), line
        assert line.endswith("."), line
    return caught.value.problems


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [*NUMBERS.values(), *TAGGED], ids=[*NUMBERS, *TAGGED])
def test_values_that_no_scenario_may_hold_are_refused_in_one_line(place, value):
    assert len(refused(HEAD + place.format(value) + "\n")) == 1


@pytest.mark.parametrize("value", TAGGED)
def test_foreign_values_in_a_device_are_refused(value):
    text = (
        f"version: 1\ncluster: {{servers: [{{count: 2}}], devices: {{d: {{sms: {value}}}}}}}\nworkload: []\n"
    )
    assert refused(text)


def test_lone_surrogates_are_refused_wherever_they_stand():
    plain = {"version": 1, "cluster": {"servers": [{}]}, "workload": [{"model": "gpt2", "rate": 1}]}
    for key, value in (
        ("name", "a\ud800"),
        ("models", {"m\udfff.json": {}}),
        ("models", {"m.json": {"nodes": [{"id": "\ud800"}]}}),
        ("description", "\udc80"),
    ):
        with pytest.raises(ScenarioError) as caught:
            scenario_from_mapping({**plain, key: value})
        assert str(caught.value).isprintable()
        assert "surrogate" in str(caught.value)
    assert refused(HEAD + 'name: "a\\ud800"\n')


def test_duplicate_keys_are_refused_with_both_lines():
    (line,) = refused(HEAD + "seed: 1\nseed: 2\n")
    assert all(told in line for told in ("line 5", "line 4", "'seed'"))


@pytest.mark.parametrize("digits", [20, 120, 400, 5000])
def test_rates_of_many_digits_are_refused(digits):
    assert refused(HEAD.replace("rate: 5", "rate: 1" + "0" * digits))
    assert refused(HEAD.replace("rate: 5", "rate: '1" + "0" * digits + "/s'"))


def test_of_many_unknown_keys_the_first_are_named_and_the_rest_counted():
    problems = refused(HEAD + "".join(f"k{i}: 1\n" for i in range(20_000)))
    assert len(problems) == MAX_PROBLEMS + 1
    assert "19,980 more" in problems[-1]
    assert sum(map(len, problems)) < 5000


@pytest.mark.parametrize(
    "group",
    ["{gpu: a100}", "{mig: nonsense}", "{mig: '1g.5gb, 9g.90gb'}", "{gpu: t4, mig: 1g.5gb}", "{mig: ','}"],
)
def test_hardware_that_does_not_exist_is_refused(group):
    assert refused(HEAD.replace("{count: 2}", group))


def test_too_many_executors_are_refused():
    (line,) = refused(HEAD.replace("{count: 2}", "{count: 100000, gpus: 64}"))
    assert "6,400,000 executors" in line


@pytest.mark.parametrize("name", ["x" * 190 + ".json", "é" * 190 + ".json"])
def test_file_names_too_long_for_the_disk_are_refused(name, tmp_path_factory):
    sources = Sources(tmp_path_factory.mktemp("files"))
    with pytest.raises(ScenarioError):
        open_bytes(HEAD.replace("gpt2", name).encode(), "s.yaml", sources)


def test_what_is_larger_than_the_limits_is_refused_quickly():
    start = time.process_time()
    values = refused(HEAD + "models: {m.json: {nodes: [" + "1," * 1_500_000 + "1]}}\n")
    size = refused(HEAD + "description: " + "x" * 14_000_000)
    assert "values" in values[0]
    assert "MB" in size[0]
    assert time.process_time() - start < 20


def link(data):
    return "1." + urlsafe_b64encode(compress(dumps(data).encode())).rstrip(b"=").decode()


def bundle(data):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("scenario.yaml", data)
    return out.getvalue()


def outcome(entry):
    try:
        return entry(), ()
    except ScenarioError as error:
        return None, error.problems


VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text()
    | some.dates()
    | some.binary(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = some.sampled_from(
    [
        "name",
        "seed",
        "cluster",
        "workload",
        "models",
        "schedulers",
        "background",
        "cost",
        "training",
        "serverless",
    ]
)


@examples(150)
@given(KEYS, VALUES, some.binary(max_size=60), some.text(max_size=60))
def test_every_entry_returns_a_scenario_or_lines(key, value, noise, text):
    whole = {
        "version": 1,
        "cluster": {"servers": [{}]},
        "workload": [{"model": "gpt2", "rate": 1}],
        key: value,
    }
    entries = [
        lambda: scenario_from_mapping(whole),
        lambda: parse_scenario(text),
        lambda: parse_scenario(f"{HEAD}{key}x: {text}"),
        lambda: open_bytes(noise, "n.yaml", Sources()).scenario,
        lambda: open_bytes(bundle(noise), "n.nona.zip", Sources()).scenario,
        lambda: unpack(link({"s": {k: v for k, v in whole.items() if k != key}, "c": text})).scenario,
        lambda: unpack("1." + text).scenario,
    ]
    for entry in entries:
        scenario, problems = outcome(entry)
        assert all(p.isprintable() for p in problems)
        assert (scenario is None) == bool(problems)
        if scenario is not None:
            assert parse_scenario(dump_scenario(scenario)) == scenario
            assert scenario_hash(scenario)
