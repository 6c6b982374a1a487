"""What the file contradicts in itself, beyond single values. Source: truss 0.18.36, 2026-11-27."""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.spec.document import Document
from controlplane.domain.spec.engine_build import EngineBuild
from controlplane.domain.spec.errors import Problem, SpecError
from controlplane.domain.spec.problems import at
from controlplane.domain.spec.section import Section

V2_BUILD_FIELDS = frozenset(
    {"checkpoint_repository", "quantization_type", "quantization_config", "skip_build_result",
     "num_builder_gpus"}
)  # fmt: skip
"""What `trt_llm.build` may say in the v2 stack."""
V2_HOMES = {
    "max_seq_len": "max_seq_len",
    "max_batch_size": "max_batch_size",
    "max_num_tokens": "max_num_tokens",
    "tensor_parallel_count": "tensor_parallel_size",
}
"""Settings of `trt_llm.build` that `trt_llm.runtime` has in the v2 stack, and their names there."""


def find_contradictions(document: Document, *, stack: str) -> Iterator[SpecError]:
    """Yield each pair of settings that exclude each other, and each that a stack requires."""
    data = document.data
    yield from _exclusive(document, data, "requirements", "requirements_file")
    yield from _exclusive(document, data, "model_cache", "weights")
    if data.get("enginehouse") and _block(data, "model_metadata").get("enginehouse"):
        yield at(
            document,
            ("enginehouse",),
            "`enginehouse` is given twice.",
            Problem.CONTRADICTION,
            hint="Keep either the top-level block or the one under `model_metadata`.",
        )
    if _block(data, "build").get("no_cache") is True:
        yield at(
            document,
            ("build", "no_cache"),
            "`build.no_cache` is not a setting of the file.",
            Problem.CONTRADICTION,
            hint="Ask for it when starting a build.",
        )
    ssh = _block(_block(data, "runtime"), "remote_ssh").get("enabled")
    if ssh is True and _block(data, "docker_server").get("run_as_user_id") is not None:
        yield at(
            document,
            ("docker_server", "run_as_user_id"),
            "`run_as_user_id` excludes `runtime.remote_ssh`.",
            Problem.CONTRADICTION,
        )
    engine = _block(data, "trt_llm")
    yield from _required_checkpoint(document, engine, stack)
    yield from _lora_cache(document, engine)
    if stack == "v2":
        yield from _v1_settings_in_v2(document, _block(engine, "build"))


def _exclusive(
    document: Document, data: Mapping[str, Any], first: str, second: str
) -> Iterator[SpecError]:
    if data.get(first) and data.get(second):
        yield at(
            document,
            (second,),
            f"`{first}` and `{second}` exclude each other.",
            Problem.CONTRADICTION,
            hint="Keep one of them.",
        )


def _required_checkpoint(
    document: Document, engine: Mapping[str, Any], stack: str
) -> Iterator[SpecError]:
    build = engine.get("build")
    if not isinstance(build, Mapping) or build.get("checkpoint_repository") is not None:
        return
    if stack == "v2" and build.get("skip_build_result") is True:
        return
    yield at(
        document,
        ("trt_llm", "build", "checkpoint_repository"),
        "`trt_llm.build.checkpoint_repository` is missing.",
        Problem.MISSING,
        hint="Name the weights: `source: HF` and `repo: owner/name`.",
    )


def _lora_cache(document: Document, engine: Mapping[str, Any]) -> Iterator[SpecError]:
    runtime = _block(engine, "runtime")
    largest = runtime.get("lora_cache_max_adapter_size")
    optimal = runtime.get("lora_cache_optimal_adapter_size")
    if isinstance(largest, int) and isinstance(optimal, int) and optimal > largest:
        yield at(
            document,
            ("trt_llm", "runtime", "lora_cache_optimal_adapter_size"),
            f"`lora_cache_optimal_adapter_size` is {optimal}, above "
            f"`lora_cache_max_adapter_size` {largest}.",
            Problem.CONTRADICTION,
            hint=f"Set it to {largest} or less.",
        )


def _v1_settings_in_v2(document: Document, build: Mapping[str, Any]) -> Iterator[SpecError]:
    for name, value in build.items():
        field = EngineBuild.model_fields.get(name)
        if field is None or name in V2_BUILD_FIELDS:
            continue
        if _is_default(value, field.get_default(call_default_factory=True)):
            continue
        home = V2_HOMES.get(name)
        path = f"trt_llm.build.{name}"
        yield at(
            document,
            ("trt_llm", "build", name),
            f"`{name}` has no meaning under `trt_llm.build` in the v2 stack.",
            Problem.MISPLACED_KEY if home else Problem.CONTRADICTION,
            hint=f"It belongs under `trt_llm.runtime` as `{home}`."
            if home
            else "Remove it, or use `inference_stack: v1`.",
            patch={path: None, f"trt_llm.runtime.{home}": value} if home else {path: None},
        )


def _is_default(value: Any, default: Any) -> bool:
    if value is None:
        return True
    if isinstance(default, Section) and isinstance(value, Mapping):
        plain = default.model_dump(mode="json")
        return {**plain, **value} == plain
    return bool(value == default)


def _block(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = data.get(name)
    return inner if isinstance(inner, Mapping) else {}
