"""A checkpoint's own facts -> a whole config: the runtime with its reason, and what fits best."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import yaml

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.encoder_routes import default_route
from controlplane.domain.facts.gpus import CPU, GIB, GPUS
from controlplane.domain.facts.quantization import PROPOSED, quantizes
from controlplane.domain.memory import FitRow, GpuOffer, every_offer, fit
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.serving_memory import memory_by_choice
from controlplane.domain.spec import Spec, parse_text
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.domain.spec.choices import RUNTIME_ON_CPU, RUNTIME_ON_GPU

_LONGEST_ON_GPU = 32_768
_LONGEST_ON_CPU = 8_192
_CPU_PARAMETERS = 2_000_000_000
"""More than that answers too slowly on a CPU to be worth a proposal."""
_OPEN = "which runtime serves it is left to what the hosts start, and planned for {}."
_WEIGHTS_AND_ROOM = 4
"""Host memory by the bytes of the weights: they are loaded in 32 bits, and the cache is beside."""


@dataclass(frozen=True, kw_only=True)
class Named:
    source: str
    repo: str
    secret_name: str = ""
    """Of the secret that opens it; empty where none was chosen."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    text: str
    runtime: str
    reason: str
    row: FitRow | None = None
    """What it runs on; None on a CPU."""
    sequence_tokens: int | None = None
    """The length that the config writes; None where it writes none."""

    @property
    def is_on_cpu(self) -> bool:
        return not RUNTIMES[self.runtime].needs_gpu


def propose(
    checkpoint: CheckpointFacts, named: Named, owned: Sequence[GpuOffer], row: FitRow | None = None
) -> Proposal:
    """Return the config that fits best, or with `row` the one of that row.

    GPUs that are there come first, then this CPU for a small model, then any kind one might get.
    """
    rows = () if row else best_rows(checkpoint, named, owned)
    is_owned = bool(rows) and rows[0].offer.owned
    if row is None and not is_owned and _suits_a_cpu(checkpoint):
        return _on_cpu(checkpoint, named)
    return _on_devices(checkpoint, named, row or _calmest(rows))


def _calmest(rows: Sequence[FitRow]) -> FitRow | None:
    """Return the best row without a doubt about it, the best of all where each has one."""
    without = (row for row in rows if not row.reasons and row.quantization_type in PROPOSED)
    return next(without, rows[0] if rows else None)


def best_rows(
    checkpoint: CheckpointFacts, named: Named, owned: Sequence[GpuOffer]
) -> tuple[FitRow, ...]:
    """Return what the checkpoint runs on, best first: kinds that a config can name."""
    spec = _spec(_content(checkpoint, named, _length(checkpoint, _LONGEST_ON_GPU)))
    kinds = {offer.kind for offer in owned}
    others = (offer for offer in every_offer() if offer.kind not in kinds)
    offers = [offer for offer in (*owned, *others) if offer.kind in GPUS and offer.kind != CPU]
    return fit(checkpoint, offers, spec=spec, runtime=memory_by_choice(spec, checkpoint))


def _on_cpu(checkpoint: CheckpointFacts, named: Named) -> Proposal:
    length = _length(checkpoint, _LONGEST_ON_CPU)
    content = _content(checkpoint, named, length)
    memory = max(4, ceil((checkpoint.weight_bytes or 0) * _WEIGHTS_AND_ROOM / GIB) + 2)
    content["resources"] = {"cpu": "2", "memory": f"{memory}Gi"}
    if "max_seq_len" in content["trt_llm"]["build"]:
        content["trt_llm"]["build"]["max_batch_size"] = 8
    return Proposal(
        text=_written(content),
        runtime=RUNTIME_ON_CPU,
        reason="No host has a GPU, and a model of this size answers on a CPU with our own engine.",
        sequence_tokens=length,
    )


def _on_devices(checkpoint: CheckpointFacts, named: Named, row: FitRow | None) -> Proposal:
    length = _length(checkpoint, _LONGEST_ON_GPU)
    content = _content(checkpoint, named, length)
    if row is not None:
        count = "" if row.devices == 1 else f":{row.devices}"
        content["resources"] = {"accelerator": f"{row.offer.kind}{count}"}
        build = content["trt_llm"]["build"]
        if quantizes(row.quantization_type):
            build["quantization_type"] = row.quantization_type
        _divide(content, row)
    runtime = row.plan.runtime_name if row and row.plan else RUNTIME_ON_GPU
    return Proposal(
        text=_written(content),
        runtime=runtime,
        reason=_reason(checkpoint, runtime),
        row=row,
        sequence_tokens=None if _is_encoder(checkpoint) else length,
    )


def _divide(content: dict[str, Any], row: FitRow) -> None:
    engine = content["trt_llm"]
    if row.tensor_parallel > 1 and engine.get("inference_stack") == "v2":
        engine["runtime"]["tensor_parallel_size"] = row.tensor_parallel
    elif row.tensor_parallel > 1:
        engine["build"]["tensor_parallel_count"] = row.tensor_parallel
    if row.pipeline_parallel > 1:
        engine["build"]["pipeline_parallel_count"] = row.pipeline_parallel


def _content(checkpoint: CheckpointFacts, named: Named, length: int | None) -> dict[str, Any]:
    engine, name = checkpoint.engine, named.repo.rstrip("/").rpartition("/")[2]
    build: dict[str, Any] = {"checkpoint_repository": _repository(named)}
    runtime: dict[str, Any] = {"served_model_name": name}
    trt_llm: dict[str, Any] = {"build": build, "runtime": runtime}
    if engine.stack == "v2":
        trt_llm = {"inference_stack": "v2", **trt_llm}
    else:
        build["base_model"] = engine.base_model or "decoder"
    if _is_encoder(checkpoint):
        runtime["webserver_default_route"] = default_route(checkpoint)
    elif length:
        (runtime if engine.stack == "v2" else build)["max_seq_len"] = length
    secrets = {named.secret_name: None} if named.secret_name else {}
    return {"model_name": name, "resources": {}, "secrets": secrets, "trt_llm": trt_llm}


def _repository(named: Named) -> dict[str, str]:
    repository = {"source": named.source, "repo": named.repo}
    if named.secret_name not in ("", DEFAULT_SECRET_NAME):
        repository["runtime_secret_name"] = named.secret_name
    return repository


def _reason(checkpoint: CheckpointFacts, runtime: str) -> str:
    reason, is_open = checkpoint.engine.reason, _OPEN.format(RUNTIMES[runtime].title)
    if _is_encoder(checkpoint):
        return f"{reason} TensorRT-LLM gives no vectors and scores; {is_open}"
    return f"{reason} {is_open[0].upper()}{is_open[1:]}"


def _is_encoder(checkpoint: CheckpointFacts) -> bool:
    return (checkpoint.engine.base_model or "").startswith("encoder")


def _length(checkpoint: CheckpointFacts, longest: int) -> int | None:
    return min(checkpoint.max_positions, longest) if checkpoint.max_positions else None


def _suits_a_cpu(checkpoint: CheckpointFacts) -> bool:
    is_decoder = checkpoint.engine.stack == "v1"
    return is_decoder and 0 < (checkpoint.parameters or 0) <= _CPU_PARAMETERS


def _spec(content: dict[str, Any]) -> Spec:
    parsed = parse_text(_written(content))
    assert parsed.spec is not None, parsed.errors
    return parsed.spec


def _written(content: dict[str, Any]) -> str:
    filled = {key: value for key, value in content.items() if value != {}}
    return str(yaml.safe_dump(filled, sort_keys=False))
