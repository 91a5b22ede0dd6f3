"""Model repositories of the Triton Inference Server: what ``config.pbtxt`` says of each model.

Source: triton-inference-server/common, protobuf/model_config.proto, and the server's documentation of the
repository, instance groups and batchers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from nona.core.errors import DeploymentError
from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Batching, Pool
from nona.deployment.prototext import Message, Schema, parse

CONFIG = "config.pbtxt"
MOST_MODELS = 200
OFF = Batching()
_MICRO = 1e-6
_TENSOR: Schema = {"name": None, "data_type": None, "dims": None, "format": None}
_MAP: Schema = {"key": None, "value": None}
SCHEMA: Schema = MappingProxyType(
    {
        "name": None,
        "platform": None,
        "backend": None,
        "max_batch_size": None,
        "input": _TENSOR,
        "output": _TENSOR,
        "instance_group": {"count": None, "kind": None, "gpus": None, "name": None},
        "dynamic_batching": {"preferred_batch_size": None, "max_queue_delay_microseconds": None},
        "ensemble_scheduling": {
            "step": {"model_name": None, "model_version": None, "input_map": _MAP, "output_map": _MAP}
        },
        "version_policy": {"specific": None, "latest": None, "all": None},
        "optimization": {
            "execution_accelerators": {
                "gpu_execution_accelerator": {"name": None, "parameters": None},
            }
        },
        "sequence_batching": None,
    }
)
"""The fields that are read; all others are listed as not used."""
SIZES = MappingProxyType(
    {
        "BOOL": 1, "UINT8": 1, "INT8": 1, "FP8": 1, "UINT16": 2, "INT16": 2, "FP16": 2, "BF16": 2,
        "UINT32": 4, "INT32": 4, "FP32": 4, "UINT64": 8, "INT64": 8, "FP64": 8,
    }
)  # fmt: skip
_CALLS = re.compile(r"InferenceRequest\s*\(")
_CALLED = re.compile(r"model_name\s*=\s*[\"']([\w.-]{1,200})[\"']")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an ensemble; the maps are the model's tensor → the ensemble's."""

    model: str
    version: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    place: str


@dataclass(frozen=True, slots=True)
class TritonModel:
    """A model of the repository.

    Parameters
    ----------
    inputs, outputs
        Tensor → bytes of one query; ``None`` where an entry is open or holds text.
    steps
        Of an ensemble, else nothing.
    calls
        Models that its code calls, as far as its text names them; ``None`` where it calls none.
    onnx
        Version → name of the file.
    """

    name: str
    place: str
    backend: str
    inputs: Mapping[str, float | None]
    outputs: Mapping[str, float | None]
    pools: tuple[Pool, ...] = ()
    batching: Batching = OFF
    steps: tuple[Step, ...] = ()
    versions: tuple[int, ...] = ()
    onnx: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    sequences: bool = False
    calls: tuple[str, ...] | None = None
    precision: str = ""
    accelerated: bool = False
    places: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def place_of(self, what: str) -> str:
        """Return where something of it stands: ``instances``, ``batching``, or an output by its name."""
        return self.places.get(what, self.place)


def repository(files: Sequence[GivenFile], ledger: Ledger) -> dict[str, TritonModel]:
    """Return the models of the repositories among the files, by name.

    Raises ``DeploymentError`` for a file that is not readable, or two models of one name.
    """
    folders: dict[tuple[str, ...], list[GivenFile]] = {}
    for file in files:
        if file.base == CONFIG or file.base.endswith(".pbtxt"):
            folders.setdefault(file.parts[:-1], []).append(file)
    for file in files:
        parts = file.parts
        if len(parts) > 2 and parts[-2].isascii() and parts[-2].isdigit() and parts[-1].startswith("model."):
            folders.setdefault(parts[:-2], [])
    if len(folders) > MOST_MODELS:
        raise DeploymentError(f"{len(folders)} models are more than {MOST_MODELS}; give a part of them.")
    models: dict[str, TritonModel] = {}
    for folder, configs in folders.items():
        inside = [f for f in files if f.parts[: len(folder)] == folder]
        if len(configs) > 1:
            configs = [f for f in configs if f.base == CONFIG] or configs[:1]
        model = _model(folder, configs[0] if configs else None, inside, ledger)
        if model.name in models:
            raise DeploymentError(
                f"{model.place}: the model {model.name!r} is also at {models[model.name].place}; rename one."
            )
        models[model.name] = model
    return models


def _model(
    folder: tuple[str, ...], config: GivenFile | None, inside: Sequence[GivenFile], ledger: Ledger
) -> TritonModel:
    name = folder[-1] if folder else (config.base.removesuffix(".pbtxt") if config else "model")
    versions = _versions(len(folder), inside)
    onnx = {v: f.name for v, f in versions.items() if f is not None and f.base == "model.onnx"}
    code = [f for f in inside if f.base == "model.py" and f.text]
    if config is None:
        place = next(f.name for f in inside if f.base.startswith("model."))
        backend = "onnxruntime" if onnx else "python" if code else "tensorrt"
        ledger.assume(f"{name}: its configuration", "config.pbtxt is missing; Triton completes it", place)
        message = Message(place, 1, ())
    else:
        place = f"{config.name}:1"
        message = parse(config.text or "", config.name)
        name, backend = message.text("name", name), _backend(message, onnx)
        for name_of, value in message.beyond(SCHEMA):
            ledger.not_used(f"{name}: {name_of}", value.text, f"{config.name}:{value.line}")
    steps = tuple(_steps(message))
    calls = _calls(code) if not steps else None
    sequences = bool(message.all("sequence_batching"))
    accelerated, precision = _accelerator(message)
    if sequences:
        ledger.not_used(
            f"{name}: sequence_batching", "queries of a sequence share state: not modelled",
            message.place("sequence_batching"),
        )  # fmt: skip
    if precision:
        ledger.read(f"{name}: precision", precision, message.place("optimization"))
    return TritonModel(
        name=name,
        place=place,
        backend=backend,
        inputs=_tensors(message, "input"),
        outputs=_tensors(message, "output"),
        pools=() if steps else _pools(message, backend, name, place, ledger),
        batching=_batching(message),
        steps=steps,
        versions=_served(message, tuple(sorted(versions))),
        onnx=onnx,
        sequences=sequences,
        calls=calls,
        precision=precision,
        accelerated=accelerated or backend == "tensorrt",
        places=_places(message) if config is not None else {},
    )


def _places(message: Message) -> dict[str, str]:
    batching = "dynamic_batching" if message.all("dynamic_batching") else "max_batch_size"
    outputs = {tensor.text("name"): f"{tensor.file}:{tensor.line}" for tensor in message.messages("output")}
    own = {"instances": message.place("instance_group"), "batching": message.place(batching)}
    return {**outputs, **own}


def _versions(depth: int, inside: Sequence[GivenFile]) -> dict[int, GivenFile | None]:
    """Return the version folders with the file of the model, where one is in it."""
    versions: dict[int, GivenFile | None] = {}
    for file in inside:
        part = file.parts[depth] if len(file.parts) > depth + 1 else ""
        if part.isascii() and part.isdigit() and len(part) < 10:
            versions.setdefault(int(part), None)
            if file.base.startswith("model.") and len(file.parts) == depth + 2:
                versions[int(part)] = file
    return versions


def _served(message: Message, there: tuple[int, ...]) -> tuple[int, ...]:
    """Return the versions that are served: by the policy, by default the latest."""
    policy = message.one("version_policy")
    if policy is None:
        return there[-1:]
    if (specific := policy.one("specific")) is not None:
        return specific.wholes("versions")
    if policy.all("all"):
        return there
    latest = policy.one("latest")
    number = latest.whole("num_versions", 1) if latest is not None else 1
    return there[-number:] if number else ()


_BACKENDS = MappingProxyType(
    {
        "tensorrt_plan": "tensorrt",
        "onnxruntime_onnx": "onnxruntime",
        "pytorch_libtorch": "pytorch",
        "tensorflow_savedmodel": "tensorflow",
        "tensorflow_graphdef": "tensorflow",
    }
)


def _backend(message: Message, onnx: Mapping[int, str]) -> str:
    platform = message.text("platform")
    return message.text("backend") or _BACKENDS.get(platform, platform) or ("onnxruntime" if onnx else "")


def _calls(code: Sequence[GivenFile]) -> tuple[str, ...] | None:
    """Return the models that the text of a ``model.py`` names where it makes requests; it is never run."""
    text = "\n".join(f.text or "" for f in code)
    if not _CALLS.search(text):
        return None
    return tuple(dict.fromkeys(_CALLED.findall(text)))


def _accelerator(message: Message) -> tuple[bool, str]:
    optimization = message.one("optimization")
    accelerators = optimization.one("execution_accelerators") if optimization else None
    for accelerator in accelerators.messages("gpu_execution_accelerator") if accelerators else ():
        mode = accelerator.pairs("parameters").get("precision_mode", "").lower()
        if accelerator.text("name") == "tensorrt":
            return True, mode if mode in ("fp32", "fp16", "int8") else ""
    return False, ""


def _tensors(message: Message, which: str) -> dict[str, float | None]:
    return {tensor.text("name"): tensor_bytes(tensor) for tensor in message.messages(which)}


def tensor_bytes(tensor: Message) -> float | None:
    """Return the bytes of one query's tensor; ``None`` where a dimension is open, or it holds text.

    >>> tensor_bytes(parse("data_type: TYPE_FP32 dims: [ 3, 640, 640 ]", "c"))
    4915200.0
    """
    kind = tensor.text("data_type").removeprefix("TYPE_")
    dims = tensor.wholes("dims", -1)
    if kind not in SIZES or not dims or min(dims) < 1:
        return None
    size = float(SIZES[kind])
    for dim in dims:
        size *= dim
    if size > 1e15:
        raise DeploymentError(
            f"{tensor.place('dims')}: {list(dims)[:8]} make {size:.3g} bytes; correct them."
        )
    return size


def _pools(message: Message, backend: str, name: str, place: str, ledger: Ledger) -> tuple[Pool, ...]:
    groups = message.messages("instance_group")
    host = backend in ("python", "dali", "fil")
    if not groups:
        pool = Pool(1, on_cpu=host)
        ledger.assume(f"{name}: instances", pools_text((pool,)), place)
        return (pool,)
    pools = []
    for group in groups:
        kind = group.text("kind", "KIND_AUTO").removeprefix("KIND_")
        if kind not in ("AUTO", "GPU", "CPU", "MODEL"):
            raise DeploymentError(
                f"{group.place('kind')}: kind {kind[:40]!r} must be AUTO, GPU, CPU or MODEL; correct it."
            )
        gpus = group.wholes("gpus", 0, 63)
        cpu = kind == "CPU" or (kind == "AUTO" and host and not gpus)
        usual = 2 if cpu and backend == "onnxruntime" else 1
        pools.append(Pool(group.whole("count", usual, 1, 1000), cpu, gpus))
    return tuple(pools)


def pools_text(pools: Sequence[Pool]) -> str:
    """Return instances in words.

    >>> pools_text((Pool(1, gpus=(0,)), Pool(2, gpus=(1,)))), pools_text((Pool(4, True),))
    ('1 on GPU 0, 2 on GPU 1', '4 on the CPU')
    """
    parts = []
    for pool in pools:
        if pool.on_cpu:
            parts.append(f"{pool.count} on the CPU")
        elif not pool.gpus:
            parts.append(f"{pool.count} on each GPU")
        else:
            parts += [f"{pool.count} on GPU {gpu}" for gpu in pool.gpus]
    return ", ".join(parts)


def _batching(message: Message) -> Batching:
    """Return the batcher's settings: without a dynamic batcher queries run one by one."""
    most = message.whole("max_batch_size", 0, 0, 1024)
    if most < 2 or not message.all("dynamic_batching"):
        return Batching()
    batcher = message.one("dynamic_batching")
    if batcher is None:
        return Batching(most)
    delay_s = batcher.whole("max_queue_delay_microseconds", 0, 0, 10**9) * _MICRO
    preferred = tuple(sorted(set(batcher.wholes("preferred_batch_size", 1, 1024))))
    if preferred and preferred[-1] > most:
        raise DeploymentError(
            f"{batcher.place('preferred_batch_size')}: preferred_batch_size {preferred[-1]} is more than "
            f"max_batch_size {most}; lower it."
        )
    return Batching(most, delay_s, preferred)


def _steps(message: Message) -> Iterator[Step]:
    for scheduling in message.messages("ensemble_scheduling"):
        for step in scheduling.messages("step"):
            version = step.text("model_version", "-1")
            yield Step(
                step.text("model_name"),
                "" if version == "-1" else version,
                step.pairs("input_map"),
                step.pairs("output_map"),
                step.place("model_name"),
            )
