"""Which arguments of vLLM end it at its start beside each other or the rest of a config.

Source: the validators of `config/` and `engine/arg_utils.py`; vLLM 0.25.1 to 0.33.0, checked
2026-12-01.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.memory.parallelism import keeps_experts_whole
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.serving.engine_arguments import argument

_MICROBATCHES = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")
_WITHOUT_SPACES = ("xgrammar", "guidance")
_PLACED = "expert-placement-strategy"
_UNBOUNDED = 1 << 62
_SHARED_SAMPLING = "enable-batch-sharded-sampling"
_ROUTED = "enable-return-routed-experts"
_DIVIDED = "decode-context-parallel-size"
_CAPTURED, _LARGEST = "cudagraph-capture-sizes", "max-cudagraph-capture-size"


@dataclass(frozen=True, kw_only=True)
class Clash:
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


def _samples_in_shares(c: Context, given: Mapping[str, Any]) -> bool:
    """Return whether sampling is to be shared out, and ranks, requests or answers forbid it."""
    ranks, requests = c.spec.tensor_parallel, c.spec.max_batch_size
    return given.get(_SHARED_SAMPLING) is True and (
        ranks < 2
        or requests < ranks
        or (_whole(given.get("max-logprobs")) or 0) < 0
        or given.get("return-sampling-mask") is True
    )


def _keeps_no_prefix(c: Context, given: Mapping[str, Any]) -> bool:
    reuses = argument(c, "kv_cache_config", "enable_block_reuse")
    return given.get("enable-prefix-caching", reuses) is False


CLASHES = (
    Clash(
        names=("enable-eplb",),
        is_one=_balances_alone,
        why="`enable-eplb` balances experts that whole ranks hold: it wants expert parallelism "
        "over at least two ranks",
    ),
    Clash(
        names=("eplb-config",),
        is_one=lambda _, given: (
            bool(_inside(given, "eplb-config", "num_redundant_experts"))
            and given.get("enable-eplb") is not True
        ),
        why="`eplb-config.num_redundant_experts` is for `enable-eplb` alone",
    ),
    Clash(
        names=("enable-dbo", "ubatch-size"),
        is_one=lambda _, given: (
            (given.get("enable-dbo") is True or (_whole(given.get("ubatch-size")) or 0) > 1)
            and given.get("all2all-backend") not in _MICROBATCHES
        ),
        why="batches in two halves (`enable-dbo`, `ubatch-size`) want `all2all-backend` to be one "
        f"of {', '.join(_MICROBATCHES)}",
    ),
    Clash(
        names=("dcp-comm-backend",),
        is_one=lambda _, given: (
            given.get("dcp-comm-backend") == "a2a" and (_whole(given.get(_DIVIDED)) or 1) < 2
        ),
        why=f"`dcp-comm-backend: a2a` is for contexts divided over ranks (`{_DIVIDED}` above 1)",
    ),
    Clash(
        names=("max-cpu-loras",),
        is_one=lambda c, given: (
            bool(c.spec.engine_build.lora_adapters)
            and _exceeds(given, "max-cpu-loras", "max-loras", 1)
        ),
        why="`max-cpu-loras` may not be below `max-loras`",
    ),
    Clash(
        names=(_CAPTURED,),
        is_one=lambda _, given: (
            _CAPTURED in given
            and _inside(given, "compilation-config", "cudagraph_capture_sizes") is not None
        ),
        why=f"`{_CAPTURED}` is given twice, by itself and inside `compilation-config`",
    ),
    Clash(
        names=(_LARGEST,),
        is_one=lambda _, given: (
            _LARGEST in given
            and _inside(given, "compilation-config", "max_cudagraph_capture_size") is not None
        ),
        why=f"`{_LARGEST}` is given twice, by itself and inside `compilation-config`",
    ),
    Clash(
        names=(_LARGEST,),
        is_one=_has_two_sizes,
        why=f"`{_LARGEST}` is not the largest of `{_CAPTURED}`",
    ),
    Clash(
        names=("attention-backend",),
        is_one=lambda _, given: (
            "attention-backend" in given
            and _inside(given, "attention-config", "backend") is not None
        ),
        why="`attention-backend` is given twice, by itself and inside `attention-config`",
    ),
    Clash(
        names=(_ROUTED,),
        is_one=lambda c, given: given.get(_ROUTED) is True and c.spec.pipeline_parallel > 1,
        why=f"`{_ROUTED}` is not for pipeline stages",
    ),
    Clash(
        names=(_ROUTED,),
        is_one=lambda c, given: (
            given.get(_ROUTED) is True
            and (
                (_whole(given.get(_DIVIDED)) or 1) > 1
                or (c.version >= "0.31" and _keeps_no_prefix(c, given))
            )
        ),
        why=f"`{_ROUTED}` wants the prefix cache, and contexts that are not divided over ranks",
    ),
    Clash(
        names=(_SHARED_SAMPLING,),
        is_one=_samples_in_shares,
        why=f"`{_SHARED_SAMPLING}` wants at least two ranks, a request for each, a bound on "
        "`max-logprobs` and no `return-sampling-mask`",
    ),
    Clash(
        names=("engram-config",),
        is_one=lambda _, given: _inside(given, "engram-config", "dp_shared_memory") is True,
        why="`engram-config.dp_shared_memory` is for several replicas in one engine, and one "
        "engine is one replica here",
    ),
    Clash(
        names=("mamba-block-size",),
        is_one=lambda _, given: (
            "mamba-block-size" in given and given.get("enable-prefix-caching") is False
        ),
        why="`mamba-block-size` is for the prefix cache, which is turned off",
    ),
    Clash(
        names=("offload-num-in-group",),
        is_one=lambda _, given: _exceeds(
            given, "offload-group-size", "offload-num-in-group", default=1
        ),
        why="`offload-num-in-group` may not be above `offload-group-size`",
    ),
    Clash(
        names=("mamba-ssu-algorithm",),
        is_one=lambda _, given: (
            given.get("mamba-ssu-algorithm", "auto") != "auto"
            and str(given.get("mamba-backend")).lower() != "flashinfer"
        ),
        why="`mamba-ssu-algorithm` wants `mamba-backend: flashinfer` beside it",
    ),
    Clash(
        names=("mm-shm-cache-max-object-size-mb",),
        is_one=lambda _, given: (
            "mm-shm-cache-max-object-size-mb" in given
            and given.get("mm-processor-cache-type") != "shm"
        ),
        why="`mm-shm-cache-max-object-size-mb` is for `mm-processor-cache-type: shm` alone",
    ),
    Clash(
        names=("offload-prefetch-step",),
        is_one=lambda _, given: (
            (_whole(given.get("offload-group-size")) or 0) > 0
            and given.get("offload-prefetch-step") == 0
        ),
        why="`offload-prefetch-step` has to be at least 1 with `offload-group-size`",
    ),
    Clash(
        names=("eplb-config",),
        is_one=lambda _, given: (
            _inside(given, "eplb-config", "use_async") is True
            and _inside(given, "eplb-config", "communicator") in ("torch_nccl", "pynccl")
        ),
        why="`eplb-config.use_async` does not go with a communicator over NCCL",
    ),
    Clash(
        names=("long-prefill-token-threshold",),
        is_one=lambda c, given: (
            (_whole(given.get("long-prefill-token-threshold")) or 0)
            > (c.spec.max_seq_len or _UNBOUNDED)
        ),
        why="`long-prefill-token-threshold` may not be above the longest sequence",
    ),
    Clash(
        names=("per-request-spec-decode-metrics",),
        is_one=lambda c, given: (
            given.get("per-request-spec-decode-metrics", "none") != "none" and not _is_drafted(c)
        ),
        why="`per-request-spec-decode-metrics` is for speculative decoding alone",
    ),
    Clash(
        names=("async-scheduling",),
        is_one=lambda c, given: given.get("async-scheduling") is True and _drafts_from_text(c),
        why="`async-scheduling` does not go with drafts that are found in the text",
    ),
    Clash(
        names=("return-sampling-mask",),
        is_one=lambda _, given: (
            given.get("return-sampling-mask") is True
            and given.get("logprobs-mode") != "processed_logprobs"
        ),
        why="`return-sampling-mask` wants `logprobs-mode: processed_logprobs` beside it",
    ),
    Clash(
        names=("all2all-backend",),
        is_one=lambda _, given: (
            given.get("all2all-backend") == "moonep"
            and (given.get("enable-eplb") is True or given.get(_PLACED, "linear") != "linear")
        ),
        why="`all2all-backend: moonep` wants experts placed in a row and not balanced",
    ),
    Clash(
        names=("structured-outputs-config",),
        is_one=lambda _, given: (
            _inside(given, "structured-outputs-config", "disable_any_whitespace") is True
            and _inside(given, "structured-outputs-config", "backend") not in _WITHOUT_SPACES
        ),
        why="`disable_any_whitespace` wants a `backend` beside it, xgrammar or guidance",
    ),
    Clash(
        names=("structured-outputs-config",),
        is_one=lambda _, given: (
            _inside(given, "structured-outputs-config", "disable_additional_properties") is True
            and _inside(given, "structured-outputs-config", "backend") != "guidance"
        ),
        why="`disable_additional_properties` wants `backend: guidance` beside it",
    ),
)
