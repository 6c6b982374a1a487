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
    """Of the hosted product's image that builds."""
    briton_version: Version | None = None
    """Of the hosted product's image that serves generators."""
    bei_version: Version | None = None
    """Of the hosted product's image that serves encoders."""
    bei_bert_version: Version | None = None
    """Of the hosted product's image that serves small encoders."""
    v2_llm_version: str | None = None
    """Of the hosted product's image of the v2 stack."""


class TrtLlmV1(Section):
    """Engine-Builder-LLM, BEI and BEI-Bert."""

    inference_stack: Literal["v1"] = "v1"
    """Which stack's settings these are."""
    build: EngineBuild
    """Checkpoint, precision, limits and parallelism."""
    runtime: RuntimeV1 = RuntimeV1()
    """How the engine serves."""
    version_overrides: VersionOverrides = VersionOverrides()
    """Versions of the images that the hosted product would use; without effect here."""


class TrtLlmV2(Section):
    """BIS-LLM: limits and parallelism live in `runtime`."""

    inference_stack: Literal["v2"]
    """Which stack's settings these are."""
    build: EngineBuild
    """Checkpoint and precision; limits and parallelism stand under `runtime`."""
    runtime: RuntimeV2
    """How the engine serves, limits and parallelism included."""
    version_overrides: VersionOverrides = VersionOverrides()
    """Versions of the images that the hosted product would use; without effect here."""


def _stack(given: Any) -> str | None:
    if isinstance(given, dict):
        stack = given.get("inference_stack", "v1")
        return stack if isinstance(stack, str) else None
    return getattr(given, "inference_stack", None)


TrtLlm = Annotated[
    Annotated[TrtLlmV1, Tag("v1")] | Annotated[TrtLlmV2, Tag("v2")], Discriminator(_stack)
]
