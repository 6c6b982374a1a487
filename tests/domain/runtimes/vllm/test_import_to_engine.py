"""A command line -> a config -> what is started: the same engine, or a line says why not."""

import shlex
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.commands.numbers import json_value
from controlplane.domain.commands.options import Option, read_options
from controlplane.domain.commands.report import CommandImport
from controlplane.domain.commands.words import Word
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.memory.fit import GpuOffer
from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.vllm.flags import GRAMMAR
from controlplane.domain.spec import parse_text
from tests.domain.commands.command_cases import as_command, command_cases
from tests.examples import examples

CASES = [case for case in command_cases() if case["kind"] == "shell"]
_START = Start(
    model_dir="/artifacts/model", host="127.0.0.1", port=9000, python="/usr/bin/python3",
    threads=2, memory_bytes=80 * GIB,
)  # fmt: skip
_OF_THE_BUILD = frozenset({"model", "model-tag", "revision", "quantization", "config", "task",
                           "runner", "convert"})  # fmt: skip
"""What the artifact itself is, and no flag of its engine."""
_NAMES_OF_ONE = {"disable-chunked-prefill": "enable-chunked-prefill",
                 "guided-decoding-backend": "structured-outputs-config",
                 "disable-prefix-caching": "enable-prefix-caching",
                 "rope-scaling": "hf-overrides", "rope-theta": "hf-overrides"}  # fmt: skip


def _launch(imported: CommandImport) -> Launch:
    spec = parse_text(imported.text).spec
    assert spec is not None
    facts = LLAMA_8B.model_copy(update={"max_positions": 2_000_000})
    return RUNTIMES["vllm"].render(spec, facts, _START)


def _started(launch: Launch) -> dict[str, Option]:
    return _options(launch.argv[launch.argv.index("serve") + 1 :])


def _options(words: Iterable[str]) -> dict[str, Option]:
    options = read_options([Word(text=word) for word in words], GRAMMAR)
    return {option.name: option for option in options.options}


def _value(option: Option) -> Any:
    if option.name in GRAMMAR.switches:
        return option.is_on
    text = " ".join(word.text for word in option.values)
    return outcome if (outcome := json_value(text)) is not None else text


def _unlike(command: str) -> list[str]:
    """Return each flag that neither reaches the engine as it was meant nor is spoken of."""
    imported = import_command(command)
    if not imported.complete:
        return []
    launch = _launch(imported)
    reports = [*imported.changed, *imported.not_carried, *imported.questions, *launch.changed]
    notes = " ".join(each.flag or "" for each in reports)
    notes += " ".join(each.found_in for each in imported.secrets)
    engine = _started(launch)
    options = _options(shlex.split(command)[2:])
    return [
        option.text
        for name, option in options.items()
        if name not in _OF_THE_BUILD and option.flag not in notes and not _is_said(option, engine)
    ]


def _is_said(option: Option, engine: dict[str, Option]) -> bool:
    name = _NAMES_OF_ONE.get(option.name, option.name)
    if name not in engine:
        return False
    given, got = _value(option), _value(engine[name])
    if name == "hf-overrides":
        key = option.name.replace("-", "_")
        target = given if option.name == name else {key: given}
        return bool(target.items() <= got.items())
    if name != option.name and option.name.startswith("disable-"):
        return bool(given != got)
    if option.name == "guided-decoding-backend":
        return bool(got == {"backend": given})
    if option.path:
        return bool(given == got.get(option.path[-1].replace("-", "_")))
    if name == "lora-modules":
        return {word.text.split("=")[0] for word in option.values} == {
            word.text.split("=")[0] for word in engine[name].values
        }
    return bool(given == got)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_public_command_starts_the_same_engine_or_says_why_not(case: dict[str, Any]) -> None:
    assert _unlike(as_command(case)) == []


_flags = {
    "--enable-auto-tool-choice": [""], "--tool-call-parser": ["hermes", "llama3_json", "nothing"],
    "--reasoning-parser": ["qwen3", "deepseek_r1", "none-such"], "--enforce-eager": [""],
    "--dtype": ["bfloat16", "auto", "half"], "--kv-cache-dtype": ["fp8", "auto", "fp8_e5m2"],
    "--no-enable-prefix-caching": [""], "--enable-prefix-caching": [""], "-tp": ["1", "4"],
    "--pipeline-parallel-size": ["2"], "--max-model-len": ["8192"], "--max-num-seqs": ["64"],
    "--max-num-batched-tokens": ["4096", "16384"], "--gpu-memory-utilization": ["0.85"],
    "--data-parallel-size": ["8"], "--enable-expert-parallel": [""], "--stream-interval": ["4"],
    "--no-enable-chunked-prefill": [""], "--enable-chunked-prefill": [""],
    "--no-async-scheduling": [""], "--async-scheduling": [""], "--tokenizer-mode": ["mistral"],
    "--disable-log-stats": [""], "--enable-sleep-mode": [""], "--seed": ["7"],
    "--rope-scaling": ['{"rope_type":"yarn","factor":4.0}'], "--rope-theta": ["1000000"],
    "--hf-overrides": ['{"max_position_embeddings":65536}'], "--quantization": ["fp8", "modelopt"],
    "--speculative-config": ['{"method":"mtp","num_speculative_tokens":2}',
                             '{"method":"ngram","num_speculative_tokens":4}'],
    "--guided-decoding-backend": ["xgrammar", "guidance", "outlines"],
    "--structured-outputs-config": ['{"backend":"guidance"}'],
    "--cudagraph-capture-sizes": ["1 2 4"], "--max-cudagraph-capture-size": ["256"],
    "--served-model-name": ["a-name"], "--trust-remote-code": [""], "--enable-lora": [""],
    "--lora-modules": ["one=owner/one"], "--override-generation-config": ['{"max_new_tokens":64}'],
    "--kv-offloading-size": ["8"], "--pooler-config": ["{}"], "--task": ["embed"],
    "--max-loras": ["4"], "--block-size": ["32", "odd"], "--no-enable-eplb": [""],
    "--compilation-config": ['{"mode":3}', "3"], "--compilation-config.mode": ["0"],
    "--scheduling-policy": ["priority", "other"], "--lora-target-modules": ["q_proj v_proj"],
}  # fmt: skip
_choices = st.lists(
    st.sampled_from(sorted(_flags)).flatmap(
        lambda flag: st.sampled_from(_flags[flag]).map(lambda value: (flag, value))
    ),
    max_size=8, unique_by=lambda pair: pair[0],
)  # fmt: skip


@examples(300)
@given(_choices)
def test_an_invented_command_starts_the_same_engine_or_says_why_not(
    chosen: list[tuple[str, str]],
) -> None:
    words = [f"{flag} {shlex.quote(value) if '{' in value else value}" for flag, value in chosen]
    assert _unlike(" ".join(["vllm serve owner/name", *words])) == []


def test_tools_are_called_by_the_parser_that_the_command_names() -> None:
    command = "vllm serve a/b --enable-auto-tool-choice --tool-call-parser hermes"
    engine = _started(_launch(import_command(command)))
    assert engine["tool-call-parser"].value.text == "hermes"
    assert engine["enable-auto-tool-choice"].is_on


def test_data_parallel_ranks_that_share_experts_are_one_model() -> None:
    command = "vllm serve a/b -tp 2 --data-parallel-size 4 --enable-expert-parallel"
    imported = import_command(command)
    spec = parse_text(imported.text).spec
    assert spec is not None
    assert str(spec.accelerator) == "H100:8"
    assert spec.tensor_parallel == 8
    assert spec.engine_build.moe_expert_parallel_option == 8
    (report,) = [each for each in imported.changed if each.flag == "-tp 2 --data-parallel-size 4"]
    assert "one model" in report.reason
    assert [each.flag for each in imported.not_carried] == []


def test_data_parallel_ranks_of_their_own_are_replicas() -> None:
    imported = import_command("vllm serve a/b --data-parallel-size 4")
    spec = parse_text(imported.text).spec
    assert spec is not None
    assert spec.tensor_parallel == 1
    (left,) = imported.not_carried
    assert "replicas" in left.reason


def test_what_v2_alone_holds_stays_in_v1_beside_adapters_as_arguments_of_vllm() -> None:
    imported = import_command(
        "vllm serve a/b --enable-auto-tool-choice --tool-call-parser hermes --rope-theta 1e6 "
        "--guided-decoding-backend xgrammar --enable-lora --lora-modules x=owner/x"
    )
    spec = parse_text(imported.text).spec
    assert spec is not None
    assert not spec.is_v2
    assert spec.settings.vllm_args == {
        "tool-call-parser": "hermes", "hf-overrides": {"rope_theta": 1e6},
    }  # fmt: skip
    reasons = [each.reason for each in imported.not_carried if "guided" in each.flag]
    assert reasons == ["Only the v2 stack holds it, and adapters belong to the v1 stack."]


@pytest.mark.parametrize(
    ("flag", "name", "value"),
    [
        ("--max-loras 4", "max-loras", 4),
        ("--no-enable-flashinfer-autotune", "enable-flashinfer-autotune", False),
        ("--scheduling-policy=priority", "scheduling-policy", "priority"),
        ("--watermark 0.02", "watermark", 0.02),
        ("--max-logprobs -1", "max-logprobs", -1),
        ("--lora-target-modules q_proj v_proj", "lora-target-modules", ["q_proj", "v_proj"]),
        ("--pooler-config.seq_pooling_type CLS", "pooler-config", {"seq_pooling_type": "CLS"}),
        ("--override-generation-config '{\"top_k\": 1}'", "override-generation-config",
         {"top_k": 1}),
    ],
)  # fmt: skip
def test_a_flag_without_a_setting_is_carried_under_its_own_name(
    flag: str, name: str, value: Any
) -> None:
    imported = import_command(f"vllm serve owner/name {flag}")
    spec = parse_text(imported.text).spec
    assert spec is not None
    assert spec.settings.vllm_args == {name: value}
    assert imported.not_carried == ()


@pytest.mark.parametrize(
    "flag",
    ["--max-loras many", "--max-loras $N", "--host 0.0.0.0", "--max-num-partial-prefills 2",
     "--scheduling-policy mine", "--media-io-kwargs '{\"cache_dir\": \"/tmp\"}'", "--unheard of"],
)  # fmt: skip
def test_a_flag_that_is_not_a_configs_to_pass_is_left_with_its_reason(flag: str) -> None:
    imported = import_command(f"vllm serve owner/name {flag}")
    spec = parse_text(imported.text).spec
    assert spec is not None
    assert spec.settings.vllm_args == {}
    assert [each.flag.split()[0] for each in imported.not_carried] == [flag.split()[0]]
    assert all(each.reason.endswith(".") for each in imported.not_carried)


def test_the_gpu_is_asked_first_and_proposed_from_what_is_owned() -> None:
    owned = [
        GpuOffer(kind="L4", count=8, memory_bytes=24 * GIB),
        GpuOffer(kind="A100", count=2, memory_bytes=80 * GIB),
    ]
    imported = import_command("vllm serve a/b -tp 4 --enable-expert-parallel --api-key k", owned)
    question = imported.questions[0]
    assert question.field == "resources.accelerator"
    assert question.choices[0].label == "L4:4"
    spec = parse_text(imported.text).spec
    assert spec is not None
    assert str(spec.accelerator) == "L4:4"
    assert all("CPU" not in choice.label for choice in question.choices)


@pytest.mark.parametrize("count", [1, 8])
def test_a_command_never_becomes_a_config_for_a_cpu(count: int) -> None:
    spec = parse_text(import_command(f"vllm serve a/b -tp {count}").text).spec
    assert spec is not None
    assert spec.accelerator is not None
    assert spec.accelerator_count == count
