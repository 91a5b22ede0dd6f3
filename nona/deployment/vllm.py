"""Engines of vLLM: ``vllm serve`` commands, their config files, and the models' ``config.json``.

Source: vllm-project/vllm, vllm/engine/arg_utils.py and vllm/config/cache.py; long options are keys, ``-`` and
``_`` are alike, 16k is 16,000 and 16K 16,384; a command's own options win over its file.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from nona.core.errors import DeploymentError, GraphError
from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import FoundEngine
from nona.deployment.located import Tree
from nona.language.models import language_models, read_config
from nona.scenario.language import PREFIX_CACHE, UTILIZATION

BLOCK = 16
MOST_COMMANDS = 100
_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "q": "quantization",
}
_NUMBER = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)")
_FACTORS = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}
_WHOLE: Mapping[str, str] = MappingProxyType(
    {
        "tensor-parallel-size": "tp",
        "max-num-seqs": "sequences",
        "max-num-batched-tokens": "budget",
        "num-gpu-blocks-override": "blocks",
    }
)
_ROLES = {"kv_producer": "prefill", "kv_consumer": "decode", "kv_both": "both"}


Take = Callable[[str, object, str, str], None]
"""Takes a setting, its value, the value as text, and where it stands."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value of an option, and where it stands."""

    value: str
    place: str


def commands(file: GivenFile) -> Iterator[dict[str, Option]]:
    """Yield the options of each ``vllm serve`` in a script; the model is the option ``model``."""
    lines = (file.text or "").split("\n")
    at = 0
    while at < len(lines):
        first, text = at + 1, lines[at]
        while text.rstrip().endswith("\\") and at + 1 < len(lines):
            at += 1
            text = text.rstrip()[:-1] + " " + lines[at]
        at += 1
        if not re.search(r"\bvllm\s+serve\b|vllm\.entrypoints\.", text):
            continue
        place = f"{file.name}:{first}"
        try:
            words = shlex.split(text, comments=True)
        except ValueError as error:
            raise DeploymentError(
                f"{place}: the command cannot be read ({error}); close its quotes."
            ) from None
        if words:
            yield _options(words, place)


def _options(words: Sequence[str], place: str) -> dict[str, Option]:
    start = next((i for i, w in enumerate(words) if w == "serve" or "vllm.entrypoints." in w), 0) + 1
    return options(words[start:], place)


def options(words: Sequence[str], place: str) -> dict[str, Option]:
    """Return the options among the words of a command, after ``vllm serve``."""
    found: dict[str, Option] = {}
    waiting = ""
    for word in words:
        if word in ("&&", ";", "|", "&", "||"):
            break
        if re.match(r"--?[A-Za-z]", word):
            key, _, value = word.lstrip("-").partition("=")
            waiting = _key(key)
            found[waiting] = Option(value or "true", place)
            waiting = "" if value else waiting
        elif waiting:
            found[waiting] = Option(word, place)
            waiting = ""
        else:
            found.setdefault("model", Option(word, place))
    return found


def _key(key: str) -> str:
    key = key.replace("_", "-")
    return _SHORT.get(key, key)


def config_options(tree: Tree) -> dict[str, Option]:
    """Return the options in a config file."""
    found = {}
    for key, value in tree.mapping().items():
        text = json.dumps(value) if isinstance(value, Mapping | list) else tree.text(key)
        found[_key(str(key))] = Option(text, tree.place_of(key))
    return found


def engines(
    scripts: Sequence[GivenFile], configs: Sequence[Tree], models: Sequence[GivenFile], ledger: Ledger
) -> tuple[list[FoundEngine], dict[str, bytes]]:
    """Return the engines of all commands, and the ``config.json`` files that they need.

    A config file that no command names is a command of its own.
    """
    used: set[str] = set()
    all_options = []
    for script in scripts:
        for own in commands(script):
            if (named := own.pop("config", None)) is not None:
                base = PurePosixPath(named.value).name
                tree = next((t for t in configs if PurePosixPath(t.file).name == base), None)
                if tree is None:
                    ledger.not_used("vllm --config", f"{base} is not among the files", named.place)
                else:
                    used.add(tree.file)
                    own = config_options(tree) | own
            all_options.append(own)
    all_options += [config_options(t) for t in configs if t.file not in used and "model" in t.mapping()]
    if len(all_options) > MOST_COMMANDS:
        raise DeploymentError(
            f"{len(all_options)} commands of vLLM are more than {MOST_COMMANDS}; give fewer."
        )
    found, files = [], dict[str, bytes]()
    for own in all_options:
        engine, file = engine_of(own, models, ledger)
        found.append(engine)
        if file is not None:
            files[PurePosixPath(file.name).name] = file.data
    return found, files


def engine_of(
    own: Mapping[str, Option], models: Sequence[GivenFile], ledger: Ledger
) -> tuple[FoundEngine, GivenFile | None]:
    """Return the engine that options describe, and its ``config.json``, where one of ``models`` is it."""
    left = dict(own)
    model = left.pop("model", Option("", next(iter(own.values())).place if own else "vllm:1"))
    if not model.value or model.value == "true":
        raise DeploymentError(
            f"{model.place}: vllm serve has no model; name it after serve, or with --model."
        )
    name = model.value
    ledger.read(f"{name}: engine", "vllm", model.place)
    settings: dict[str, object] = {}

    def record_setting(setting: str, value: object, text: str, place: str) -> None:
        settings[setting] = value
        ledger.read(f"{name}: {setting}", text, place)

    for key, setting in _WHOLE.items():
        if (option := left.pop(key, None)) is not None:
            number = _number(option, key)
            record_setting(setting, number, str(number), option.place)
    _utilization(name, left, record_setting, model.place, ledger)
    _caching(name, left, record_setting, model.place, ledger)
    precision = _precision(name, left, record_setting, ledger)
    option, on = _switch(left, "enforce-eager")
    if option is not None and on:
        record_setting("graphs", "outside", "outside: no CUDA graphs", option.place)
    if (option := left.pop("max-model-len", None)) is not None and option.value != "auto":
        ledger.read(
            f"{name}: tokens of a request at most", str(_number(option, "max-model-len")), option.place
        )
    if (option := left.pop("kv-transfer-config", None)) is not None:
        role = _ROLES.get(str(_json(option).get("kv_role")), "")
        if role:
            record_setting("role", role, role, option.place)
    for key, option in left.items():
        ledger.not_used(f"{name}: --{key}", option.value, option.place)
    scenario_name, file = _model(name, models, precision, ledger, model.place)
    return FoundEngine(
        scenario_name, settings, model.place, precision="fp8" if precision == "fp8" else ""
    ), file


def _utilization(name: str, left: dict[str, Option], take: Take, place: str, ledger: Ledger) -> None:
    option = left.pop("gpu-memory-utilization", None)
    if option is None:
        settings_key = f"{name}: utilization, vLLM's default"
        take(
            "utilization",
            ledger.assume(settings_key, UTILIZATION, place, "fraction"),
            f"{UTILIZATION:g}",
            place,
        )
        return
    try:
        value = float(option.value)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise DeploymentError(
            f"{option.place}: gpu-memory-utilization {option.value[:40]!r} must be from 0 to 1; correct it."
        )
    take("utilization", value, f"{value:g}", option.place)


def _caching(name: str, left: dict[str, Option], take: Take, place: str, ledger: Ledger) -> None:
    option, on = _switch(left, "enable-prefix-caching")
    if option is None:
        ledger.assume(f"{name}: prefix_cache, vLLM's default", PREFIX_CACHE, place)
    shared = "share" if on else "off"
    take("prefix_cache", shared, shared, option.place if option else place)
    for key, setting in (("enable-chunked-prefill", "chunked"), ("async-scheduling", "lookahead")):
        option, on = _switch(left, key)
        if option is not None:
            take(setting, on, str(on).lower(), option.place)


def _switch(left: dict[str, Option], key: str) -> tuple[Option | None, bool]:
    """Return the option of a switch, and whether it is on; on where there is none."""
    on, off = left.pop(key, None), left.pop(f"no-{key}", None)
    if off is not None:
        return off, False
    return on, on is None or on.value.lower() != "false"


def _precision(name: str, left: dict[str, Option], take: Take, ledger: Ledger) -> str:
    if (option := left.pop("kv-cache-dtype", None)) is not None:
        if option.value.startswith("fp8"):
            take("kv", "fp8", "fp8", option.place)
        elif option.value not in ("auto", "bfloat16", "float16"):
            ledger.not_used(f"{name}: --kv-cache-dtype", option.value, option.place)
    option = left.pop("quantization", None)
    if option is None:
        return ""
    ledger.read(f"{name}: weights", option.value, option.place)
    return str(option.value)


def _number(option: Option, key: str) -> int:
    match = _NUMBER.fullmatch(option.value)
    number = float(match[1]) * _FACTORS[match[2]] if match else 0
    if not 1 <= number <= 1e9 or number != int(number):
        raise DeploymentError(
            f"{option.place}: {key} {option.value[:40]!r} must be a whole number, as 16384 or 16k."
        )
    return int(number)


def _json(option: Option) -> Mapping[str, object]:
    try:
        data = json.loads(option.value)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise DeploymentError(f"{option.place}: {option.value[:40]!r} must be a JSON object; correct it.")
    return data


def _model(
    name: str, models: Sequence[GivenFile], precision: str, ledger: Ledger, place: str
) -> tuple[str, GivenFile | None]:
    """Return the scenario's name of a model: its config.json among the files, else a known model like it."""
    words = set(_words(PurePosixPath(name).name))
    for file in models:
        stem = re.sub(r"\.?config\.json$|\.json$", "", file.base) or (
            file.parts[-2] if len(file.parts) > 1 else ""
        )
        if (stem and set(_words(stem)) <= words) or (len(models) == 1 and not stem):
            try:
                config = read_config(file.data, file.base)
            except GraphError as error:
                raise DeploymentError(f"{file.name}:1: {error}") from None
            bits = f", weights of {config.quantization.bits:g} bits" if config.quantization else ""
            ledger.read(
                f"{name}: its shape", f"{config.layers} layers of {config.hidden}{bits}", f"{file.name}:1"
            )
            return file.base, file
    known = [k for k in language_models() if set(_words(k)) <= words]
    if known and precision in ("", "fp8"):
        best = max(known, key=len)
        ledger.assume(f"{name}: its shape is that of", best, place)
        return best, None
    answer = ledger.ask(
        f"{PurePosixPath(name).name}.model", f"{name}: give its config.json too, or name a known model",
        place, hint=max(known, key=len) if known else None,
    )  # fmt: skip
    return (str(answer) if answer is not None else f"asked: {PurePosixPath(name).name}.model"), None


def _words(name: str) -> list[str]:
    return [w for w in re.split(r"[-_ /]+", name.lower().replace("meta-llama", "llama")) if w]
