"""EH7: ranks, caches, sources and secrets of LoRA adapters."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.adapters import AdapterFacts
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME, CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.engine_build import LoraConfiguration
from controlplane.domain.spec.repository_forms import is_well_formed, meant, shown
from controlplane.domain.spec.trt_llm import TrtLlmV1

_ADAPTERS = "trt_llm.build.lora_adapters"
_RANK = "trt_llm.build.lora_configuration.max_lora_rank"
_REPOSITORY = "trt_llm.build.checkpoint_repository"
_CACHE = "trt_llm.runtime.lora_cache"
_CACHE_FIELDS = tuple(
    f"lora_cache_{name}"
    for name in ("max_adapter_size", "optimal_adapter_size", "gpu_memory_fraction",
                 "host_memory_bytes")
)  # fmt: skip
_USUAL_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
LARGEST_RANK = _USUAL_RANKS[-1]
_HIGH_RANK = 64
_TWO = {
    "legal": {"source": "LOCAL", "repo": "/checkpoints/legal"},
    "medical": {"source": "LOCAL", "repo": "/checkpoints/medical"},
}
_BASE: Config = {"resources.accelerator": "L40S", _ADAPTERS: _TWO}
_ADAPTER = LLAMA_8B.model_copy(
    update={
        "adapter": AdapterFacts(kind="LORA", rank=16, base_model="owner/base"),
        "has_weights": False,
    }
)


def _example(**changes: object) -> Example:
    return Example(config={**_BASE, **changes}, checkpoint=LLAMA_8B)


def _adapters(c: Context) -> dict[str, CheckpointRepository]:
    return c.spec.engine_build.lora_adapters or {}


def _rank(c: Context) -> int:
    return (c.spec.engine_build.lora_configuration or LoraConfiguration()).max_lora_rank


def _next_rank(c: Context) -> int:
    return next((rank for rank in _USUAL_RANKS if rank >= _rank(c)), _USUAL_RANKS[-1])


def _is_beyond_model(c: Context) -> bool:
    width = c.known.checkpoint.hidden_size if c.known.checkpoint else None
    return 0 < (width or 0) < _rank(c)


def _unlisted(c: Context) -> list[str]:
    named = {each.runtime_secret_name for each in _adapters(c).values()}
    return sorted(named - {DEFAULT_SECRET_NAME} - c.spec.secret_names)


def _list_them(c: Context) -> Patch:
    return {"secrets": {**c.spec.secrets, **dict.fromkeys(_unlisted(c))}}


def _twice(c: Context) -> list[str]:
    seen: dict[tuple[str, str | None], str] = {}
    found = []
    for name, each in _adapters(c).items():
        place = (each.repo, each.revision)
        if place in seen:
            found += [seen[place], name]
        seen.setdefault(place, name)
    return found


def _misplaced(c: Context) -> dict[str, CheckpointRepository]:
    return {
        name: each
        for name, each in _adapters(c).items()
        if each.source is CheckpointSource.BASETEN_TRAINING
        or not is_well_formed(each.source, each.repo)
    }


def _as_meant(c: Context) -> Patch | None:
    found = {name: meant(each.source, each.repo) for name, each in _misplaced(c).items()}
    patch: dict[str, object] = {}
    for name, place in found.items():
        if place is None or "." in name:  # a dot in a name would lead the patch elsewhere
            return None
        patch[f"{_ADAPTERS}.{name}.source"] = place[0].value
        patch[f"{_ADAPTERS}.{name}.repo"] = place[1]
    return patch


def _idle_cache(c: Context) -> list[str]:
    engine = c.spec.trt_llm
    if not isinstance(engine, TrtLlmV1):
        return []
    return [name for name in _CACHE_FIELDS if getattr(engine.runtime, name) is not None]


def _swap(c: Context) -> Patch | None:
    adapter, here = c.checkpoint.adapter, c.spec.checkpoint
    if adapter is None or here is None or not adapter.base_model:
        return None
    mine = here.model_dump(mode="json", exclude_none=True)
    return {
        f"{_REPOSITORY}.source": CheckpointSource.HF.value,
        f"{_REPOSITORY}.repo": adapter.base_model,
        _ADAPTERS: {"adapter": mine},
    }


HIGH_RANK = Rule(
    code="EH708",
    name="high-adapter-rank",
    severity=Severity.HINT,
    fields=at(_RANK),
    concerns=lambda c: bool(_adapters(c)),
    when=lambda c: _rank(c) > _HIGH_RANK,
    message=lambda c: (
        f"`max_lora_rank` is {_rank(c)}, above the default of 64. Every adapter takes room for "
        "that rank whatever its own is; usual ranks are "
        + ", ".join(map(str, _USUAL_RANKS))
        + ", and some base models allow less. Set it to the adapters' `r`."
    ),
    source=sources.lora_guide("max_lora_rank"),
    bad=_example(**{_RANK: 256}),
    good=_example(**{_RANK: 16}),
)

ODD_RANK = Rule(
    code="EH709",
    name="unusual-adapter-rank",
    severity=Severity.WARNING,
    fields=at(_RANK),
    concerns=lambda c: bool(_adapters(c)),
    when=lambda c: (
        8 < _rank(c) < LARGEST_RANK and _rank(c) not in _USUAL_RANKS and not _is_beyond_model(c)
    ),
    message=lambda c: (
        f"`max_lora_rank` {_rank(c)} is none of {', '.join(map(str, _USUAL_RANKS))}: vLLM takes "
        "these only."
    ),
    fix=Fix(label="Use the next one", patch=lambda c: {_RANK: _next_rank(c)}, safe=True),
    source=sources.measured("vllm-project/vllm#2847"),
    bad=_example(**{_RANK: 48}),
    good=_example(**{_RANK: 64}),
)

RANK_BEYOND_MODEL = Rule(
    code="EH710",
    name="adapter-rank-beyond-the-model",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_RANK),
    concerns=lambda c: bool(_adapters(c)),
    when=_is_beyond_model,
    message=lambda c: (
        f"`max_lora_rank` is {_rank(c):,}, and the model is {c.checkpoint.hidden_size or 0:,} "
        "wide: no adapter of it has a higher rank than that."
    ),
    fix=Fix(label="Use the default, 64", patch=lambda _: {_RANK: 64}, safe=False),
    source=sources.lora_guide("max_lora_rank"),
    bad=_example(**{_RANK: 8192}),
    good=_example(**{_RANK: 64}),
)

UNLISTED_SECRET = Rule(
    code="EH711",
    name="adapter-secret-that-is-not-listed",
    severity=Severity.ERROR,
    fields=at(_ADAPTERS, "secrets"),
    when=lambda c: bool(_unlisted(c)),
    message=lambda c: (
        "Adapters name "
        + ", ".join(f"`{name}`" for name in _unlisted(c))
        + ", and `secrets` does not list it: a build gets only the secrets that its config lists."
    ),
    fix=Fix(label="List the secret", patch=_list_them, safe=True),
    source=sources.storage_guide("secrets"),
    bad=_example(
        **{_ADAPTERS: {"a": {"source": "HF", "repo": "a/b", "runtime_secret_name": "team_token"}}}
    ),
    good=_example(),
)

TWICE = Rule(
    code="EH712",
    name="one-adapter-under-two-names",
    severity=Severity.HINT,
    fields=at(_ADAPTERS),
    when=lambda c: bool(_twice(c)),
    message=lambda c: (
        "The same adapter under several names takes memory for each: "
        + ", ".join(f"`{name}`" for name in _twice(c))
        + "."
    ),
    source=sources.lora_guide("selecting an adapter"),
    bad=_example(
        **{_ADAPTERS: {"a": {"source": "HF", "repo": "a/b"}, "c": {"source": "HF", "repo": "a/b"}}}
    ),
    good=_example(),
)

IDLE_CACHE = Rule(
    code="EH713",
    name="adapter-cache-without-adapters",
    severity=Severity.HINT,
    fields=lambda c: tuple(f"trt_llm.runtime.{name}" for name in _idle_cache(c)) or (_ADAPTERS,),
    concerns=lambda c: not _adapters(c),
    when=lambda c: bool(_idle_cache(c)),
    message=lambda c: (
        ", ".join(f"`{name}`" for name in _idle_cache(c))
        + " has no effect without `lora_adapters`. No page of the hosted product describes these "
        "settings; its parser reads them."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: {f"trt_llm.runtime.{name}": None for name in _idle_cache(c)},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, lora_cache settings"),
    bad=Example(config={f"{_CACHE}_gpu_memory_fraction": 0.1}),
    good=_example(**{f"{_CACHE}_gpu_memory_fraction": 0.1}),
)

ADAPTER_AS_BASE = Rule(
    code="EH714",
    name="adapter-as-the-model",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(f"{_REPOSITORY}.repo", _ADAPTERS),
    when=lambda c: (
        c.checkpoint.adapter is not None
        and not c.checkpoint.has_weights
        and (c.spec.checkpoint is None or c.spec.checkpoint.repo != c.checkpoint.adapter.base_model)
    ),
    message=lambda c: (
        f"`{c.spec.checkpoint.repo if c.spec.checkpoint else ''}` holds an adapter and no model"
        + (
            f"; it was trained on `{c.checkpoint.adapter.base_model}`"
            if c.checkpoint.adapter and c.checkpoint.adapter.base_model
            else ""
        )
        + ". Name the base model under `checkpoint_repository` and this one under `lora_adapters`."
    ),
    fix=Fix(label="Put each in its place", patch=_swap, safe=True),
    source=sources.lora_guide("adapter repositories"),
    bad=Example(config={"resources.accelerator": "H100"}, checkpoint=_ADAPTER),
    good=_example(),
)

EXPERTS_WITH_ADAPTERS = Rule(
    code="EH715",
    name="adapters-over-expert-ranks",
    severity=Severity.HINT,
    runtimes=VLLM,
    fields=at(_ADAPTERS, "trt_llm.build.moe_expert_parallel_option"),
    concerns=lambda c: bool(_adapters(c)),
    when=lambda c: c.spec.engine_build.moe_expert_parallel_option > 1,
    message=lambda _: (
        "vLLM takes adapters beside expert parallelism with its usual exchange between GPUs alone, "
        "and we did not see the two run together; TensorRT-LLM lists them as untested. Try it "
        "before anyone depends on it."
    ),
    source=sources.vllm("lora/layers/fused_moe.py", checked="2026-11-30"),
    bad=_example(
        **{
            "resources.accelerator": "L40S:2",
            "trt_llm.build.tensor_parallel_count": 2,
            "trt_llm.build.moe_expert_parallel_option": 2,
        }
    ),
    good=_example(),
)

UNREADABLE_PLACE = Rule(
    code="EH716",
    name="adapter-place-in-another-form",
    severity=Severity.ERROR,
    fields=lambda c: tuple(f"{_ADAPTERS}.{name}" for name in _misplaced(c)) or (_ADAPTERS,),
    concerns=lambda c: bool(_adapters(c)),
    when=lambda c: bool(_misplaced(c)),
    message=lambda c: (
        "No build can read the place of "
        + ", ".join(f"`{name}` (`{shown(place.repo)}`, source `{place.source}`)"
                    for name, place in _misplaced(c).items())
        + ". Write `s3://bucket/path`, `gs://bucket/path` or `az://container/path` for a bucket, "
        "the `https://` address of a tar or tar.gz for `REMOTE_URL`; projects of the hosted "
        "product (`BASETEN_TRAINING`) have to be exported first."
    ),
    fix=Fix(label="Write it as meant", patch=_as_meant, safe=True),
    source=sources.storage_guide("checkpoint sources"),
    bad=_example(**{_ADAPTERS: {"a": {"source": "S3", "repo": "gs://weights/legal"}}}),
    good=_example(**{_ADAPTERS: {"a": {"source": "GCS", "repo": "gs://weights/legal"}}}),
)  # fmt: skip

RULES = (
    HIGH_RANK, ODD_RANK, RANK_BEYOND_MODEL, UNLISTED_SECRET, TWICE, IDLE_CACHE, ADAPTER_AS_BASE,
    EXPERTS_WITH_ADAPTERS, UNREADABLE_PLACE,
)  # fmt: skip
