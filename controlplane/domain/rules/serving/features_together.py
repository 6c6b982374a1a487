"""EH66: what the runtime refuses on this GPU, and pairs that were not seen to go together."""

from collections.abc import Iterator
from itertools import combinations

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, on_trtllm, on_vllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument
from controlplane.domain.rules.serving.vllm_kernels import named_backend
from controlplane.domain.rules.speculation.lookahead import RECOMMENDED, SPECULATOR
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.runtimes.pairs import Pair
from controlplane.domain.runtimes.requested_features import requested_features
from controlplane.domain.runtimes.together import listed_pair

_ADAPTERS = "trt_llm.build.lora_adapters"
_STAGES = "trt_llm.build.pipeline_parallel_count"
_BUDGET = "trt_llm.build.quantization_config.effective_bits"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_CACHE_TYPE = f"{ARGUMENTS}.kv_cache_config.dtype"
_PLACES = {
    Feature.LOOKAHEAD: SPECULATOR,
    Feature.ADAPTERS: _ADAPTERS,
    Feature.PIPELINE_PARALLEL: _STAGES,
    Feature.MULTIMODAL: _REPO,
    Feature.MIXED_WEIGHTS: _BUDGET,
    Feature.FP8_KV_CACHE: "trt_llm.build.quantization_type",
    Feature.HOST_KV_CACHE: "trt_llm.runtime.kv_cache_host_memory_bytes",
    Feature.ENGINE_ARGUMENTS: "trt_llm.runtime.patch_kwargs",
}
"""Where a config asks for it, of those that have no path of their own in each stack."""
_OF_OTHER_RULES = frozenset({
    Feature.ACCELERATOR, Feature.FP8_WEIGHTS, Feature.FP4_WEIGHTS, Feature.INT4_WEIGHTS,
    Feature.INT4_WEIGHTS_FP8_INPUTS, Feature.FP8_BLOCK_WEIGHTS, Feature.POOLING,
})  # fmt: skip
_OF_REQUESTS = (Feature.STRUCTURED_OUTPUT, Feature.TOOLS)
"""What any request for text may ask for."""
_ONE: Config = {_ADAPTERS: {"legal": {"source": "LOCAL", "repo": "/checkpoints/legal"}}}
_H100: Config = {"resources.accelerator": "H100", "trt_llm.build.max_batch_size": 32}


def _features(c: Context) -> tuple[Feature, ...]:
    return tuple(requested_features(c.spec, c.checkpoint))


def _refused(c: Context) -> list[Feature]:
    """Return what is asked and refused, but for what other rules say of the GPU and the weights."""
    if c.can(Feature.ACCELERATOR).is_refused:
        return []
    return [
        feature
        for feature in _features(c)
        if feature not in _OF_OTHER_RULES
        and c.can(feature).is_refused
        and not _is_found_elsewhere(c, feature)
        and not (feature is Feature.FP8_KV_CACHE and _names_kernels_of_older_gpus(c))
    ]


def _names_kernels_of_older_gpus(c: Context) -> bool:
    """Return whether FlashInfer is named, which takes FP8 keys and values below 8.9 too."""
    return (named_backend(c) or "").upper() == "FLASHINFER" and c.gpu.has_capability(8, 0)


def _is_found_elsewhere(c: Context, feature: Feature) -> bool:
    """Return whether another rule says so of the type that the config asks for."""
    kind = c.spec.quantization_type
    if feature is Feature.MIXED_WEIGHTS:
        return c.can(Feature.FP4_WEIGHTS).is_refused
    return feature is Feature.FP8_KV_CACHE and kind.is_fp8 and kind.quantizes_kv_cache


def _place(c: Context, feature: Feature) -> str:
    if feature is Feature.PIPELINE_PARALLEL and c.spec.is_v2:
        return f"{ARGUMENTS}.pipeline_parallel_size"
    if feature is Feature.FP8_KV_CACHE and not c.spec.quantization_type.quantizes_kv_cache:
        return _CACHE_TYPE if c.spec.is_v2 and _names_cache_type(c) else _REPO
    return _PLACES.get(feature, c.spec.tensor_parallel_path)


def _names_cache_type(c: Context) -> bool:
    return argument(c, "kv_cache_config", "dtype") is not None


def _refusals(c: Context) -> str:
    return "; ".join(f"{feature}: {c.can(feature).how}" for feature in _refused(c))


def _without_it(c: Context) -> Patch | None:
    """Return the patch that asks no more for the one thing that is refused, where that is one."""
    droppable = {Feature.ADAPTERS: _ADAPTERS, Feature.MIXED_WEIGHTS: _BUDGET}
    refused = _refused(c)
    is_asked = c.spec.mixes_numbers or refused != [Feature.MIXED_WEIGHTS]
    path = droppable.get(refused[0]) if len(refused) == 1 and is_asked else None
    return {path: None} if path else None


def _what_goes(c: Context) -> str:
    mixes = _refused(c) == [Feature.MIXED_WEIGHTS]
    return "Use one number for all layers" if mixes else "Remove the adapters"


REFUSED = Rule(
    code="EH663",
    name="feature-that-the-runtime-refuses",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=lambda c: tuple(_place(c, each) for each in _refused(c)) or (_ADAPTERS,),
    may_mark=tuple(sorted({*_PLACES.values(), _CACHE_TYPE})),
    when=lambda c: bool(_refused(c)),
    message=lambda c: f"{c.engine.title} cannot serve this on `{c.gpu.kind}`: {_refusals(c)}.",
    fix=Fix(label=_what_goes, patch=_without_it, safe=False),
    otherwise=other_engines,
    source=sources.enginehouse("runtimes, capabilities"),
    bad=on_trtllm(Example(config={**_H100, **_ONE}, checkpoint=LLAMA_8B)),
    good=on_vllm(Example(config={**_H100, **_ONE}, checkpoint=LLAMA_8B)),
)


def _untested_pairs(c: Context) -> list[Pair]:
    """Return the pairs not seen to run, of what is asked and what requests may ask beside it."""
    together = combinations((*_features(c), *_beside(c)), 2)
    pairs = (listed_pair(c.engine, *pair, c.version) for pair in together)
    return [
        pair
        for pair in pairs
        if pair is not None
        and pair.support is Support.UNTESTED
        and not any(c.can(feature).is_refused for feature in pair.features)
    ]


def _beside(c: Context) -> Iterator[Feature]:
    if c.spec.base_model.is_encoder:
        return
    yield from _OF_REQUESTS
    if getattr(c.spec.trt_llm.runtime, "enable_chunked_context", c.spec.chunks_prefill):
        yield Feature.CHUNKED_PREFILL


def _pair_places(c: Context) -> tuple[str, ...]:
    features = {feature for pair in _untested_pairs(c) for feature in pair.features} & {
        *_features(c)
    }
    return tuple(_place(c, feature) for feature in Feature if feature in features)


def _sentence(pair: Pair) -> str:
    one, other = pair.features
    return f"{one} with {other} ({pair.how}; {pair.source.document}, {pair.source.section})"


def _without_lookahead(c: Context) -> Patch | None:
    drafts = all(Feature.LOOKAHEAD in pair.features for pair in _untested_pairs(c))
    return {SPECULATOR: None} if drafts else None


UNTESTED = Rule(
    code="EH664",
    name="features-not-seen-together",
    severity=Severity.WARNING,
    about_runtime=True,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=lambda c: _pair_places(c) or (SPECULATOR,),
    may_mark=(SPECULATOR, _ADAPTERS, _STAGES, _REPO, f"{ARGUMENTS}.pipeline_parallel_size"),
    when=lambda c: bool(_untested_pairs(c)),
    message=lambda c: (
        f"{c.engine.title} {c.version} was not seen to run "
        + "; nor ".join(map(_sentence, _untested_pairs(c)))
        + ". Try it before anyone depends on it."
    ),
    fix=Fix(label="Remove lookahead", patch=_without_lookahead, safe=False),
    source=sources.enginehouse("runtimes, pairs of features"),
    bad=on_vllm(Example(config={**_H100, SPECULATOR: RECOMMENDED, **_ONE}, checkpoint=LLAMA_8B)),
    good=on_vllm(Example(config={**_H100, **_ONE}, checkpoint=LLAMA_8B)),
)
