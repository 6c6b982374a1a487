"""`enginehouse.vllm_args` reaches vLLM exactly, or a check says why it does not."""

import json
from typing import Any

import pytest

from controlplane.domain.facts.vllm_argument_keys import INSIDE, Inside
from controlplane.domain.facts.vllm_arguments import (
    KERNELS,
    KINDS,
    STEPS,
    VERSIONS,
    WORDS,
    Kind,
)
from controlplane.domain.facts.vllm_word_versions import versions_of_word
from controlplane.domain.rules import examine, examine_with_fixes
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.rules.serving.engine_arguments import V2
from controlplane.domain.runtimes.exporting import ExportFormat, export_config
from controlplane.domain.runtimes.vllm import capabilities, render
from controlplane.domain.runtimes.vllm.decided_elsewhere import decided_by, not_passed
from controlplane.domain.runtimes.vllm.own_arguments import fault
from controlplane.domain.spec import parse_mapping
from tests.domain.cases import DATA
from tests.domain.runtimes.test_drivers import spec_with
from tests.every_case import every_case

FLAGS = json.loads((DATA / "vllm_flags.json").read_text())
ON_VLLM = {"resources.accelerator": "H100", "enginehouse.runtime": "vllm"}
VALUES: dict[Kind, Any] = {
    Kind.SWITCH: False, Kind.INTEGER: 3, Kind.NUMBER: 0.5, Kind.TEXT: "word",
    Kind.TEXTS: ["one", "two"], Kind.INTEGERS: [1, 2],
}  # fmt: skip
PARSERS = {"tool-call-parser": "hermes", "reasoning-parser": "qwen3"}


def inside_of(inside: Inside) -> dict[str, Any]:
    """Return a mapping with every key that passes, each at a value that passes."""
    parser = {"reasoning_parser": "qwen3"}
    return {
        **{key: parser.get(key, 1) for key in inside.plain.split() if key not in inside.blocks},
        **{key: words.split()[-1] for key, words in inside.words.items()},
        **{key: inside_of(block) for key, block in inside.blocks.items()},
        **({"enable_thinking": False} if inside.takes_any else {}),
    }


def value_for(name: str) -> Any:
    if name in INSIDE:
        return inside_of(INSIDE[name])
    if name in STEPS:
        return STEPS[name][0]
    words = sorted(KERNELS[name]) if name in KERNELS else WORDS.get(name, ())
    of_all_versions = (word for word in words if versions_of_word(name, word) is None)
    return PARSERS.get(name) or next(of_all_versions, VALUES[KINDS[name]])


def started(arguments: dict[str, Any], version: str = "0.33") -> tuple[list[str], dict[str, str]]:
    launch = render.render(
        spec_with({"enginehouse.runtime": "vllm", "enginehouse.vllm_args": arguments}),
        LLAMA_8B, model_dir="/model", host="127.0.0.1", port=1, python="python", threads=1,
        memory_bytes=80 << 30, version=version,
    )  # fmt: skip
    return list(launch.argv), {each.flag: each.reason for each in launch.ignored_settings}


def findings(arguments: dict[str, Any], **changes: Any) -> dict[str, Any]:
    config = {**ON_VLLM, "enginehouse.vllm_args": arguments, **changes}
    example = Example(config=config, checkpoint=LLAMA_8B)
    report = examine(example.content, example.known).report
    return {each.code: each for each in report.findings if "EH673" <= each.code <= "EH679"}


@every_case("name", sorted(KINDS))
def test_every_argument_is_one_that_its_versions_have_in_that_form(name: str) -> None:
    flag = FLAGS[f"--{name}"]
    first, last = VERSIONS.get(name, ("0.25", "0.33"))
    assert (flag["since"], flag["until"]) == (first, last)
    several = KINDS[name] in (Kind.TEXTS, Kind.INTEGERS)
    wanted = "none" if KINDS[name] is Kind.SWITCH else "many" if several else "one"
    assert flag["values"] == wanted
    assert KINDS[name] is not Kind.SWITCH or f"--no-{name}" in FLAGS


@pytest.mark.wide
@every_case("name", sorted(KINDS))
def test_every_argument_is_rendered_as_written_where_the_version_has_it(name: str) -> None:
    value = value_for(name)
    for version in capabilities.VERSIONS:
        first, last = VERSIONS.get(name, ("0.25", "0.33"))
        argv, ignored = started({name: value}, version)
        said = [word for word in argv if word in (f"--{name}", f"--no-{name}")]
        assert bool(said) is (first <= version <= last)
        assert bool(said) is (f"enginehouse.vllm_args.{name}" not in ignored)
    assert findings({name: value}).keys() == ({"EH674"} if last < "0.33" else set())


def test_values_stand_in_the_command_as_vllm_reads_them() -> None:
    argv, ignored = started(
        {
            "block_size": 32, "enable-eplb": False, "kv-cache-metrics": True, "watermark": 0.02,
            "lora-target-modules": ["q_proj", "v_proj"], "pooler-config": {"task": "embed"},
            "max-logprobs": -1, "reasoning-parser": None,
        }
    )  # fmt: skip
    at = argv.index("--block-size")
    assert argv[at:] == [
        "--block-size", "32", "--no-enable-eplb", "--kv-cache-metrics", "--watermark", "0.02",
        "--lora-target-modules", "q_proj", "v_proj", "--pooler-config", '{"task": "embed"}',
        "--max-logprobs=-1",
    ]  # fmt: skip
    assert not [path for path in ignored if "vllm_args" in path]


@every_case("flag", sorted(FLAGS))
def test_every_flag_of_vllm_is_passed_on_or_refused_with_what_decides_it(flag: str) -> None:
    name = flag.removeprefix("--").removeprefix("no-")
    spec = spec_with({"enginehouse.runtime": "vllm"})
    assert (name in KINDS) + bool(decided_by(spec, name) or not_passed(name)) >= 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("block-size", "32"), ("block-size", True), ("enable-eplb", 1), ("watermark", "low"),
        ("pooler-config", "{}"), ("lora-target-modules", "q_proj"),
        ("cudagraph-capture-sizes", [1, "2"]), ("scheduling-policy", "mine"),
        ("tool-call-parser", "nobody"), ("reasoning-parser", 3), ("cudagraph-capture-sizes", []),
        ("lora-target-modules", []), ("dtype", "float32"), ("attention-backend", "XFORMERS"),
        ("moe-backend", "deepgem"), ("tokenizer-mode", "fast"), ("block-size", 24),
        ("optimization-level", 4), ("model-impl", "/opt/code"), ("model-impl", "hf"),
        ("kda-prefill-backend", "fused"), ("mm-encoder-attn-backend", "XFORMERS"),
        ("compilation-config", {"cudagraph_mode": "PARTS"}),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_an_error_and_reaches_no_command(name: str, value: Any) -> None:
    assert fault(name, value)
    assert f"--{name}" not in started({name: value})[0]


@pytest.mark.parametrize(
    ("name", "word", "having"),
    [
        ("tokenizer-mode", "slow", ("0.25", "0.30")),
        ("tokenizer-mode", "deepseek_v41", ("0.30", "0.33")),
        ("attention-backend", "TRITON-FLASHINFER", ("0.30", "0.33")),
        ("moe-backend", "flashinfer_moe_ep_mega_cutedsl", ("0.29", "0.31")),
        ("mamba-cache-mode", "all", ("0.25", "0.31")),
    ],
)
def test_a_word_is_refused_by_the_versions_that_lack_it(
    name: str, word: str, having: tuple[str, str]
) -> None:
    for version in capabilities.VERSIONS:
        is_missing = f"vLLM {version} has no `{word}`" in str(fault(name, word, version))
        assert is_missing is not (having[0] <= version <= having[1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lora-target-modules", ["--host", "0.0.0.0"]), ("response-role", "--trust-remote-code"),
        ("media-io-kwargs", {"video": {"cache_dir": "x"}}), ("response-role", "/opt/code"),
        ("hf-overrides", {"api_key": "k"}), ("hf-overrides", {"a": ["https://host/x"]}),
        ("response-role", "hf_" + "a" * 34), ("kernel-config", {"server": "10.0.0.7:8000"}),
    ],
)  # fmt: skip
def test_secrets_places_and_further_flags_are_refused(name: str, value: Any) -> None:
    found = findings({name: value})
    assert found.keys() == {"EH677"}
    assert "a" * 34 not in found["EH677"].message
    argv = started({name: value})[0]
    assert not {f"--{name}", "--trust-remote-code", "0.0.0.0"} & {*argv}


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("compilation-config", {"backend": "package.backend"}, "backend"),
        ("compilation-config", {"mode": 3, "inductor_passes": {"one": "package.step"}},
         "inductor_passes"),
        ("compilation-config", {"inductor_compile_config": {"cpp.cxx": "cc"}},
         "inductor_compile_config"),
        ("compilation-config", {"mode": {"deep": 1}}, "mode"),
        ("structured-outputs-config", {"reasoning_parser_plugin": "plugin"},
         "reasoning_parser_plugin"),
        ("structured-outputs-config", {"reasoning_parser": "mine"}, "mine"),
        ("hf-overrides", {"auto_map": {"AutoModel": "owner/name--modeling.Model"}}, "auto_map"),
        ("hf-overrides", {"architectures": ["Other"]}, "architectures"),
        ("hf-overrides", {"text_config": {"num_hidden_layers": 2}},
         "text_config.num_hidden_layers"),
        ("media-io-kwargs", {"video": {"video_backend": "mine"}}, "video_backend"),
    ],
)  # fmt: skip
def test_a_key_that_loads_code_or_changes_a_size_is_refused_by_name(
    name: str, value: Any, key: str
) -> None:
    found = findings({name: value})
    assert found.keys() == {"EH678"}
    assert key in found["EH678"].message
    assert f"--{name}" not in started({name: value})[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compilation-config", {"custom_ops": ["none", "-rms_norm"]}),
        ("mm-processor-kwargs", {"image_token": "<image>"}),
        ("default-chat-template-kwargs", {"image_token": "-", "thinking": True}),
    ],
)
def test_words_inside_a_mapping_are_no_flags_and_no_secrets(name: str, value: Any) -> None:
    assert findings({name: value}) == {}
    assert json.dumps(value) in started({name: value})[0]


def test_a_length_that_overrides_make_is_the_one_that_is_planned() -> None:
    stretched = {"rope_scaling": {"rope_type": "linear", "factor": 2}}
    arguments = {"hf_overrides": {"max_position_embeddings": 8192, **stretched}}
    config = {**ON_VLLM, "enginehouse.vllm_args": arguments, "trt_llm.build.max_seq_len": None}
    example = Example(config=config, checkpoint=LLAMA_8B)
    planned = examine(example.content, example.known).plan
    assert planned is not None
    assert planned.sequence_tokens == 16_384


@pytest.mark.parametrize(
    ("name", "v1", "v2"),
    [
        ("max-model-len", "trt_llm.build.max_seq_len", "trt_llm.runtime.max_seq_len"),
        ("tensor_parallel_size", "trt_llm.build.tensor_parallel_count",
         "trt_llm.runtime.tensor_parallel_size"),
        ("kv-offloading-size", "trt_llm.runtime.kv_cache_host_memory_bytes",
         "trt_llm.runtime.patch_kwargs.kv_cache_config.host_cache_size"),
        ("speculative-config", "trt_llm.build.speculator",
         "trt_llm.runtime.patch_kwargs.speculative_config"),
    ],
)  # fmt: skip
def test_what_a_field_of_the_config_says_is_refused_by_that_field(
    name: str, v1: str, v2: str
) -> None:
    for stack, field in ({}, v1), (V2, v2):
        found = findings({name: 4}, **stack)
        assert found.keys() == {"EH676"}
        assert f"`{field}`" in found["EH676"].message


def test_what_patch_kwargs_says_already_is_refused_beside_it() -> None:
    patch = {"stream_interval": 4, "tool_parser": "hermes", "disable_overlap_scheduler": True}
    found = findings(
        {"stream-interval": 2, "tool-call-parser": "mistral", "async-scheduling": True},
        **V2, **{"trt_llm.runtime.patch_kwargs": patch},
    )  # fmt: skip
    assert found.keys() == {"EH676"}
    assert all(f"patch_kwargs.{name}`" in found["EH676"].message for name in patch)


def test_a_misspelt_name_is_offered_the_one_that_was_meant() -> None:
    config = {**ON_VLLM, "enginehouse.vllm_args": {"scheduling_polcy": "priority"}}
    example = Example(config=config, checkpoint=LLAMA_8B)
    parsed = parse_mapping(example.content)
    report = examine_with_fixes(parsed, lambda _: example.known).report
    finding = next(each for each in report.findings if each.code == "EH674")
    assert "`scheduling-policy`" in finding.message
    assert finding.fix is not None
    assert finding.fix.patch == {
        "enginehouse.vllm_args.scheduling_polcy": None,
        "enginehouse.vllm_args.scheduling-policy": "priority",
    }


def test_the_version_that_hosts_run_says_which_names_there_are() -> None:
    config = {**ON_VLLM, "enginehouse.vllm_args": {"monokernel": True}}
    ran = frozenset({("vllm", "0.27.1")})
    example = Example(config=config, checkpoint=LLAMA_8B, versions=ran)
    messages = [
        each.message
        for each in examine(example.content, example.known).report.findings
        if each.code == "EH674"
    ]
    assert messages == ["vLLM 0.27 has no `monokernel`; versions 0.33 to 0.33 have it."]


@pytest.mark.parametrize("runtime", ["native", "trtllm"])
def test_another_runtime_refuses_them(runtime: str) -> None:
    assert findings({"block-size": 32}, **{"enginehouse.runtime": runtime}).keys() == {"EH673"}


def test_an_exported_command_holds_them() -> None:
    config = {**ON_VLLM, "enginehouse.vllm_args": {"max-loras": 4}}
    exported = export_config(json.dumps(Example(config=config).content), ExportFormat.VLLM)
    assert "--max-loras 4" in exported.text
    assert not [each for each in exported.not_carried if "vllm_args" in each.flag]
