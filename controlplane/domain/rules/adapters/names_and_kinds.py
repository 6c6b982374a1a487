"""EH7: LoRA adapters."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.rule import ALL_RUNTIMES, TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.spec.engine_build import LoraConfiguration
from controlplane.domain.spec.trt_llm import TrtLlmV1

_ADAPTERS = "trt_llm.build.lora_adapters"
_CONFIGURATION = "trt_llm.build.lora_configuration"
_RANK = f"{_CONFIGURATION}.max_lora_rank"
_MODULES = f"{_CONFIGURATION}.lora_target_modules"
_CACHE_RANK = "trt_llm.runtime.lora_cache_max_adapter_size"
_SERVED_NAME = "trt_llm.runtime.served_model_name"
TARGET_MODULES = (
    "attn_q", "attn_k", "attn_v", "attn_dense", "mlp_h_to_4h", "mlp_4h_to_h", "mlp_gate",
)  # fmt: skip
_ONE = {"legal": {"source": "LOCAL", "repo": "/checkpoints/legal"}}
_TWO = {**_ONE, "medical": {"source": "LOCAL", "repo": "/checkpoints/medical"}}
_L40S = {"resources.accelerator": "L40S", _ADAPTERS: _TWO}


def _example(**changes: object) -> Example:
    return Example(config={**_L40S, **changes}, checkpoint=LLAMA_8B)


def _adapters(c: Context) -> tuple[str, ...]:
    return tuple(c.spec.engine_build.lora_adapters or {})


def _configuration(c: Context) -> LoraConfiguration:
    return c.spec.engine_build.lora_configuration or LoraConfiguration()


def _cache_rank(c: Context) -> int | None:
    engine = c.spec.trt_llm
    return engine.runtime.lora_cache_max_adapter_size if isinstance(engine, TrtLlmV1) else None


def _unknown_modules(c: Context) -> list[str]:
    return [name for name in _configuration(c).lora_target_modules if name not in TARGET_MODULES]


RANK_BELOW_ONE = Rule(
    code="EH701",
    name="adapter-rank-below-one",
    severity=Severity.ERROR,
    fields=at(_RANK),
    when=lambda c: _configuration(c).max_lora_rank < 1,
    message=lambda c: (
        f"`max_lora_rank` is {_configuration(c).max_lora_rank}; an adapter has a rank of 1 or more."
        " Set it to the `r` of the adapters: lower cuts them off, higher wastes memory."
    ),
    fix=Fix(label="Use the default, 64", patch=lambda _: {_RANK: 64}, safe=False),
    source=sources.lora_guide("max_lora_rank"),
    bad=_example(**{_RANK: 0}),
    good=_example(**{_RANK: 16}),
)

RANK_ABOVE_CACHE = Rule(
    code="EH702",
    name="adapter-rank-above-the-cache",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_CACHE_RANK, _RANK),
    concerns=lambda c: bool(_adapters(c)),
    when=lambda c: _configuration(c).max_lora_rank > (_cache_rank(c) or 2**31),
    message=lambda c: (
        f"Adapters may have rank {_configuration(c).max_lora_rank}, and the adapter cache accepts "
        f"ranks up to {_cache_rank(c)}: they would not load."
    ),
    fix=Fix(
        label="Let the cache accept them",
        patch=lambda c: {_CACHE_RANK: _configuration(c).max_lora_rank},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, lora_cache settings"),
    bad=on_trtllm(_example(**{_RANK: 64, _CACHE_RANK: 32})),
    good=on_trtllm(_example(**{_RANK: 32, _CACHE_RANK: 32})),
)

UNKNOWN_MODULES = Rule(
    code="EH703",
    name="unknown-adapter-modules",
    severity=Severity.ERROR,
    fields=at(_MODULES),
    when=lambda c: bool(_unknown_modules(c)),
    message=lambda c: (
        "Not among the modules that adapters can change: "
        + ", ".join(f"`{name}`" for name in _unknown_modules(c))
        + ". Known: "
        + ", ".join(TARGET_MODULES)
        + "."
    ),
    fix=Fix(label="Read them from the adapters", patch=lambda _: {_MODULES: None}, safe=True),
    source=sources.lora_guide("target modules"),
    bad=_example(**{_MODULES: ["q_proj"]}),
    good=_example(**{_MODULES: ["attn_q", "attn_v"]}),
)

CONFIGURED_WITHOUT_ADAPTERS = Rule(
    code="EH704",
    name="adapter-settings-without-adapters",
    severity=Severity.HINT,
    fields=at(_CONFIGURATION),
    when=lambda c: c.spec.engine_build.lora_configuration is not None and not _adapters(c),
    message=lambda _: "`lora_configuration` has no effect without `lora_adapters`.",
    fix=Fix(label="Remove it", patch=lambda _: {_CONFIGURATION: None}, safe=True),
    source=sources.lora_guide("configuration"),
    bad=Example(config={_CONFIGURATION: {"max_lora_rank": 16}}),
    good=_example(**{_CONFIGURATION: {"max_lora_rank": 16}}),
)

SAME_NAME = Rule(
    code="EH705",
    name="adapter-named-like-the-model",
    severity=Severity.ERROR,
    fields=at(_ADAPTERS, _SERVED_NAME),
    when=lambda c: c.spec.served_model_name in _adapters(c),
    message=lambda c: (
        f"An adapter and the model are both called `{c.spec.served_model_name}`, so a request "
        "cannot say which of the two it means."
    ),
    fix=Fix(
        label="Let the model take its config's name",
        patch=lambda _: {_SERVED_NAME: None},
        safe=False,
    ),
    source=sources.lora_guide("selecting an adapter"),
    bad=_example(**{_SERVED_NAME: "legal"}),
    good=_example(**{_SERVED_NAME: "base"}),
)

ONE_ADAPTER = Rule(
    code="EH706",
    name="single-adapter",
    severity=Severity.HINT,
    fields=at(_ADAPTERS),
    when=lambda c: len(_adapters(c)) == 1,
    message=lambda c: (
        f"`{_adapters(c)[0]}` is the only adapter; merged into the weights it would serve faster."
    ),
    source=sources.lora_guide("one adapter"),
    bad=_example(**{_ADAPTERS: _ONE}),
    good=_example(),
)

ON_ENCODER = Rule(
    code="EH707",
    name="adapters-on-encoder",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=ALL_RUNTIMES,
    fields=at(_ADAPTERS, "trt_llm.build.base_model"),
    concerns=lambda c: c.spec.base_model.is_encoder,
    when=lambda c: bool(_adapters(c)),
    message=lambda c: (
        f"Adapters serve text generation only, and `base_model` is `{c.spec.base_model}`."
    ),
    fix=Fix(label="Remove the adapters", patch=lambda _: {_ADAPTERS: None}, safe=False),
    source=sources.truss("trt_llm_config.py, lora_adapters"),
    bad=_example(**{"trt_llm.build.base_model": "encoder"}),
    good=_example(),
)
