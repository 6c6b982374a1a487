"""EH694: arguments of vLLM that it refuses beside each other or beside the rest of a config."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_vllm
from controlplane.domain.rules.named_arguments import argument_paths, named_arguments
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity
from controlplane.domain.rules.serving.vllm_clashes import CLASHES, Clash

_FIELD = "enginehouse.vllm_args"


@dataclass(frozen=True, kw_only=True)
class _Clash:
    """Arguments, and when vLLM fails to start for them."""

    names: tuple[str, ...]
    """Those that are at fault; taking them out mends it."""
    is_one: Callable[[Context, Mapping[str, Any]], bool]
    why: str


def _inside(given: Mapping[str, Any], block: str, key: str) -> Any:
    value = given.get(block)
    return value.get(key) if isinstance(value, dict) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _exceeds(given: Mapping[str, Any], less: str, more: str, default: int) -> bool:
    least, most = _whole(given.get(less)), _whole(given.get(more, default))
    return least is not None and most is not None and least < most


def _balances_alone(c: Context, given: Mapping[str, Any]) -> bool:
    ranks = c.spec.tensor_parallel
    whole = keeps_experts_whole(c.spec, ranks)
    return given.get("enable-eplb") is True and (ranks < 2 or not whole)


def _has_two_sizes(_: Context, given: Mapping[str, Any]) -> bool:
    sizes, largest = given.get(_CAPTURED), _whole(given.get(_LARGEST))
    listed = [each for each in sizes if _whole(each)] if isinstance(sizes, list) else []
    return bool(listed) and largest is not None and max(listed) != largest


def _is_drafted(c: Context) -> bool:
    return c.spec.speculator is not None or bool(argument(c, "speculative_config"))


def _drafts_from_text(c: Context) -> bool:
    kind = str((argument(c, "speculative_config") or {}).get("decoding_type", "")).lower()
    return c.spec.speculator is not None or kind in ("ngram", "sa")


_CLASHES = (
    _Clash(
        names=("enable-eplb",),
        is_one=_balances_alone,
        why="`enable-eplb` balances experts that whole ranks hold: it wants expert parallelism "
        "over at least two ranks",
    ),
    _Clash(
        names=("eplb-config",),
        is_one=lambda _, given: (
            bool(_inside(given, "eplb-config", "num_redundant_experts"))
            and given.get("enable-eplb") is not True
        ),
        why="`eplb-config.num_redundant_experts` is for `enable-eplb` alone",
    ),
    _Clash(
        names=("enable-dbo", "ubatch-size"),
        is_one=lambda _, given: (
            (given.get("enable-dbo") is True or (_whole(given.get("ubatch-size")) or 0) > 1)
            and given.get("all2all-backend") not in _MICROBATCHES
        ),
        why="batches in two halves (`enable-dbo`, `ubatch-size`) want `all2all-backend` to be one "
        f"of {', '.join(_MICROBATCHES)}",
    ),
    _Clash(
        names=("dcp-comm-backend",),
        is_one=lambda _, given: (
            given.get("dcp-comm-backend") == "a2a"
            and (_whole(given.get("decode-context-parallel-size")) or 1) < 2
        ),
        why="`dcp-comm-backend: a2a` is for contexts divided over ranks "
        "(`decode-context-parallel-size` above 1)",
    ),
    _Clash(
        names=("max-cpu-loras",),
        is_one=lambda c, given: (
            bool(c.spec.engine_build.lora_adapters)
            and _exceeds(given, "max-cpu-loras", "max-loras", 1)
        ),
        why="`max-cpu-loras` may not be below `max-loras`",
    ),
    _Clash(
        names=(_CAPTURED,),
        is_one=lambda _, given: (
            _CAPTURED in given
            and _inside(given, "compilation-config", "cudagraph_capture_sizes") is not None
        ),
        why=f"`{_CAPTURED}` is given twice, by itself and inside `compilation-config`",
    ),
    _Clash(
        names=(_LARGEST,),
        is_one=lambda _, given: (
            _LARGEST in given
            and _inside(given, "compilation-config", "max_cudagraph_capture_size") is not None
        ),
        why=f"`{_LARGEST}` is given twice, by itself and inside `compilation-config`",
    ),
    _Clash(
        names=(_LARGEST,),
        is_one=_has_two_sizes,
        why=f"`{_LARGEST}` is not the largest of `{_CAPTURED}`",
    ),
    _Clash(
        names=("attention-backend",),
        is_one=lambda _, given: (
            "attention-backend" in given
            and _inside(given, "attention-config", "backend") is not None
        ),
        why="`attention-backend` is given twice, by itself and inside `attention-config`",
    ),
    _Clash(
        names=("enable-return-routed-experts",),
        is_one=lambda c, given: (
            given.get("enable-return-routed-experts") is True and c.spec.pipeline_parallel > 1
        ),
        why="`enable-return-routed-experts` is not for pipeline stages",
    ),
    _Clash(
        names=("mamba-block-size",),
        is_one=lambda _, given: (
            "mamba-block-size" in given and given.get("enable-prefix-caching") is False
        ),
        why="`mamba-block-size` is for the prefix cache, which is turned off",
    ),
    _Clash(
        names=("offload-num-in-group",),
        is_one=lambda _, given: _exceeds(
            given, "offload-group-size", "offload-num-in-group", default=1
        ),
        why="`offload-num-in-group` may not be above `offload-group-size`",
    ),
    _Clash(
        names=("mamba-ssu-algorithm",),
        is_one=lambda _, given: (
            given.get("mamba-ssu-algorithm", "auto") != "auto"
            and str(given.get("mamba-backend")).lower() != "flashinfer"
        ),
        why="`mamba-ssu-algorithm` wants `mamba-backend: flashinfer` beside it",
    ),
    _Clash(
        names=("mm-shm-cache-max-object-size-mb",),
        is_one=lambda _, given: (
            "mm-shm-cache-max-object-size-mb" in given
            and given.get("mm-processor-cache-type") != "shm"
        ),
        why="`mm-shm-cache-max-object-size-mb` is for `mm-processor-cache-type: shm` alone",
    ),
    _Clash(
        names=("offload-prefetch-step",),
        is_one=lambda _, given: (
            (_whole(given.get("offload-group-size")) or 0) > 0
            and given.get("offload-prefetch-step") == 0
        ),
        why="`offload-prefetch-step` has to be at least 1 with `offload-group-size`",
    ),
    _Clash(
        names=("eplb-config",),
        is_one=lambda _, given: (
            _inside(given, "eplb-config", "use_async") is True
            and _inside(given, "eplb-config", "communicator") in ("torch_nccl", "pynccl")
        ),
        why="`eplb-config.use_async` does not go with a communicator over NCCL",
    ),
    _Clash(
        names=("long-prefill-token-threshold",),
        is_one=lambda c, given: (
            (_whole(given.get("long-prefill-token-threshold")) or 0)
            > (c.spec.max_seq_len or _UNBOUNDED)
        ),
        why="`long-prefill-token-threshold` may not be above the longest sequence",
    ),
    _Clash(
        names=("per-request-spec-decode-metrics",),
        is_one=lambda c, given: (
            given.get("per-request-spec-decode-metrics", "none") != "none" and not _is_drafted(c)
        ),
        why="`per-request-spec-decode-metrics` is for speculative decoding alone",
    ),
    _Clash(
        names=("async-scheduling",),
        is_one=lambda c, given: given.get("async-scheduling") is True and _drafts_from_text(c),
        why="`async-scheduling` does not go with drafts that are found in the text",
    ),
    _Clash(
        names=("return-sampling-mask",),
        is_one=lambda _, given: (
            given.get("return-sampling-mask") is True
            and given.get("logprobs-mode") != "processed_logprobs"
        ),
        why="`return-sampling-mask` wants `logprobs-mode: processed_logprobs` beside it",
    ),
    _Clash(
        names=("all2all-backend",),
        is_one=lambda _, given: (
            given.get("all2all-backend") == "moonep"
            and (given.get("enable-eplb") is True or given.get(_PLACED, "linear") != "linear")
        ),
        why="`all2all-backend: moonep` wants experts placed in a row and not balanced",
    ),
    _Clash(
        names=("structured-outputs-config",),
        is_one=lambda _, given: (
            _inside(given, "structured-outputs-config", "disable_any_whitespace") is True
            and _inside(given, "structured-outputs-config", "backend") not in _WITHOUT_SPACES
        ),
        why="`disable_any_whitespace` wants a `backend` beside it, xgrammar or guidance",
    ),
    _Clash(
        names=("structured-outputs-config",),
        is_one=lambda _, given: (
            _inside(given, "structured-outputs-config", "disable_additional_properties") is True
            and _inside(given, "structured-outputs-config", "backend") != "guidance"
        ),
        why="`disable_additional_properties` wants `backend: guidance` beside it",
    ),
)


def _clashes(c: Context) -> Iterator[_Clash]:
    given = {name: value for name, value in named_arguments(c).items() if value is not None}
    return (each for each in CLASHES if each.is_one(c, given))


def _paths(c: Context) -> tuple[str, ...]:
    named = (argument_paths(c, *each.names) for each in _clashes(c))
    return tuple(dict.fromkeys(path for paths in named for path in paths))


REFUSED_TOGETHER = Rule(
    code="EH694",
    name="vllm-arguments-refused-together",
    severity=Severity.ERROR,
    runtimes=VLLM,
    fields=lambda c: _paths(c) or (_FIELD,),
    may_mark=(_FIELD,),
    concerns=lambda c: bool(named_arguments(c)),
    when=lambda c: any(True for _ in _clashes(c)),
    message=lambda c: "vLLM fails to start: " + "; ".join(each.why for each in _clashes(c)) + ".",
    fix=Fix(label="Leave them out", patch=lambda c: dict.fromkeys(_paths(c)), safe=False),
    source=sources.vllm("config/, the validators of each block", checked="2026-11-30"),
    bad=on_vllm(
        Example(
            config={"resources.accelerator": "H100", _FIELD: {"enable-eplb": True}},
            checkpoint=LLAMA_8B,
        )
    ),
    good=on_vllm(
        Example(
            config={"resources.accelerator": "H100", _FIELD: {"enable-eplb": False}},
            checkpoint=LLAMA_8B,
        )
    ),
)
