"""vLLM is told the parsers that a checkpoint's chat template tells, unless the config says so."""

from typing import Any

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.rules.serving.engine_arguments import V2
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.native.chat_forms import READ_FORMS
from controlplane.domain.runtimes.vllm import render
from controlplane.domain.runtimes.vllm.capabilities import VERSIONS
from controlplane.domain.runtimes.vllm.chat_parsers import FLAGS, parser_of
from controlplane.domain.runtimes.vllm.parsers import Kind
from controlplane.domain.spec import Spec
from tests.domain.facts.test_chat_forms import TEMPLATES, facts_of
from tests.domain.runtimes.test_drivers import spec_with

STACKS = ("v1", "v2")
_ON_VLLM = {"resources.accelerator": "H100", "enginehouse.runtime": "vllm"}
THINKING = next(each for each in TEMPLATES if each["model"] == "Qwen/Qwen3-8B")
QWEN3 = LLAMA_8B.model_copy(
    update=facts_of(THINKING).model_dump(include={"renders_tools", "call_form", "thought_form"})
    | {"model_type": "qwen3"}
)


def spec(stack: str, **arguments: Any) -> Spec:
    own = {"trt_llm.runtime.patch_kwargs": arguments} if arguments else {}
    return spec_with({"enginehouse.runtime": "vllm", **own}, stack)


def words(spec: Spec, checkpoint: CheckpointFacts, version: str = VERSIONS[-1]) -> list[str]:
    launch = render.render(
        spec, checkpoint, model_dir="/model", host="127.0.0.1", port=1, python="python",
        threads=1, memory_bytes=80 << 30, version=version,
    )  # fmt: skip
    return list(launch.argv)


def value_after(flag: str, argv: list[str]) -> str | None:
    assert argv.count(flag) <= 1
    return argv[argv.index(flag) + 1] if flag in argv else None


@pytest.mark.parametrize("model", TEMPLATES, ids=lambda model: model["model"])
def test_each_family_gets_the_parsers_that_vllm_names_for_it(model: dict[str, Any]) -> None:
    names = {kind: getattr(parser_of(kind, facts_of(model)), "name", None) for kind in Kind}
    assert names == {
        Kind.TOOLS: model["tool_parser"], Kind.REASONING: model["reasoning_parser"],
    }  # fmt: skip


@pytest.mark.parametrize("model", TEMPLATES, ids=lambda model: model["model"])
def test_where_none_fits_the_refusal_of_tools_is_told(model: dict[str, Any]) -> None:
    facts = facts_of(model)
    refusal = RUNTIMES["vllm"].tool_refusal(spec("v1"), facts)
    assert (refusal is None) is (model["tool_parser"] is not None or not facts.renders_tools)
    own = RUNTIMES["native"].tool_refusal(spec("v1"), facts)
    assert (own is None) is (model["call_form"] in READ_FORMS or not facts.renders_tools)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_command_names_the_parsers_in_either_stack(stack: str, version: str) -> None:
    argv = words(spec(stack), QWEN3, version)
    assert "--enable-auto-tool-choice" in argv
    assert value_after("--tool-call-parser", argv) == "hermes"
    assert value_after("--reasoning-parser", argv) == "qwen3"


def test_a_parser_that_the_config_names_wins() -> None:
    argv = words(spec("v2", tool_parser="pythonic", reasoning_parser="deepseek_r1"), QWEN3)
    assert value_after("--tool-call-parser", argv) == "pythonic"
    assert value_after("--reasoning-parser", argv) == "deepseek_r1"
    assert argv.count("--enable-auto-tool-choice") == 1


def test_a_parser_that_the_config_takes_away_is_not_put_back() -> None:
    argv = words(spec("v2", tool_parser=None, stream_interval=4), QWEN3)
    assert not {"--tool-call-parser", "--enable-auto-tool-choice"} & {*argv}
    assert value_after("--reasoning-parser", argv) == "qwen3"


def test_an_encoder_has_no_parsers() -> None:
    encoder = spec_with({"trt_llm.build.base_model": "encoder", "enginehouse.runtime": "vllm"})
    assert not {flag for flags in FLAGS.values() for flag in flags} & {*words(encoder, QWEN3)}


def effective(checkpoint: CheckpointFacts, stack: str) -> dict[str, EffectiveValue]:
    content = Example(config={**(V2 if stack == "v2" else {}), **_ON_VLLM}).content
    outcome = examine(content, Example(checkpoint=checkpoint).known).effective
    return {value.field: value for value in outcome if "vllm_args" in value.field}


@pytest.mark.parametrize("stack", STACKS)
def test_the_choice_stands_among_the_effective_values_with_its_reason(stack: str) -> None:
    effective_values = effective(QWEN3, stack)
    tools = effective_values["enginehouse.vllm_args.tool-call-parser"]
    assert (tools.asked, tools.effective) == (None, "hermes")
    assert "<tool_call>" in tools.reason
    assert effective_values["enginehouse.vllm_args.reasoning-parser"].effective == "qwen3"


def test_where_the_template_was_not_read_no_parser_is_shown() -> None:
    assert effective(LLAMA_8B, "v1") == {}
