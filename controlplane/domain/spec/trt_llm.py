"""`trt_llm`: the engine, in the v1 or the v2 stack."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Tag
from pydantic_core import PydanticCustomError

from controlplane.domain.spec.engine_build import EngineBuild
from controlplane.domain.spec.engine_runtime import RuntimeV1, RuntimeV2
from controlplane.domain.spec.section import Section


def _begins_with_a_digit(version: str) -> str:
    if not version[:1].isdigit():
        raise PydanticCustomError(
            "version", "`{version}` does not begin with a digit", {"version": version}
        )
    return version


Version = Annotated[str, AfterValidator(_begins_with_a_digit)]


class VersionOverrides(Section):
    """Versions of the hosted product's images; without effect here."""

    engine_builder_version: Version | None = None
    briton_version: Version | None = None
    bei_version: Version | None = None
    bei_bert_version: Version | None = None
    v2_llm_version: str | None = None


class TrtLlmV1(Section):
    """Engine-Builder-LLM, BEI and BEI-Bert."""

    inference_stack: Literal["v1"] = "v1"
    build: EngineBuild
    runtime: RuntimeV1 = RuntimeV1()
    version_overrides: VersionOverrides = VersionOverrides()


class TrtLlmV2(Section):
    """BIS-LLM: limits and parallelism live in `runtime`."""

    inference_stack: Literal["v2"]
    build: EngineBuild
    runtime: RuntimeV2
    version_overrides: VersionOverrides = VersionOverrides()


def _stack(given: Any) -> str | None:
    if isinstance(given, dict):
        stack = given.get("inference_stack", "v1")
        return stack if isinstance(stack, str) else None
    return getattr(given, "inference_stack", None)


TrtLlm = Annotated[
    Annotated[TrtLlmV1, Tag("v1")] | Annotated[TrtLlmV2, Tag("v2")], Discriminator(_stack)
]
