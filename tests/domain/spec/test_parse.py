"""Reading config.yaml: values, defaults, and every error at once with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.spec import Problem, SpecError, parse_mapping, parse_text
from tests.examples import examples

CHECKPOINT = "checkpoint_repository: {source: HF, repo: owner/name}"


def _errors(text: str) -> dict[str, SpecError]:
    result = parse_text(text)
    assert result.spec is None
    return {error.path: error for error in result.errors}


def _engine(build: str = "", rest: str = "") -> str:
    return f"trt_llm:\n  build:\n    {CHECKPOINT}\n    {build}\n{rest}"


def test_a_small_file_takes_the_documented_defaults() -> None:
    spec = parse_text(_engine()).spec
    assert spec is not None
    assert spec.max_batch_size == 256
    assert spec.max_num_tokens == 8192
    assert spec.kv_cache_fraction == 0.9
    assert spec.max_seq_len is None
    assert spec.engine_build.quantization_config.calib_max_seq_length == 1536
    assert spec.runtime_name == "native"
    assert spec.checkpoint is not None
    assert spec.checkpoint.runtime_secret_name == "hf_access_token"
    assert spec.resources.memory == "2Gi"


def test_derived_values_read_the_right_stack() -> None:
    spec = parse_text(
        "resources: {accelerator: 'B200:4'}\n"
        f"trt_llm:\n  inference_stack: v2\n  build:\n    {CHECKPOINT}\n"
        "  runtime: {tensor_parallel_size: 4, max_seq_len: 1024, max_batch_size: 7,"
        " patch_kwargs: {kv_cache_config: {free_gpu_memory_fraction: 0.5}}}\n"
    ).spec
    assert spec is not None
    assert (spec.tensor_parallel, spec.max_seq_len, spec.max_batch_size) == (4, 1024, 7)
    assert spec.kv_cache_fraction == 0.5
    assert spec.runtime_name == "vllm"
    assert spec.accelerator is not None
    assert (spec.accelerator.kind, spec.accelerator.count) == ("B200", 4)


def test_all_errors_come_together_with_their_lines() -> None:
    errors = _errors(
        "resources:\n"
        "  accelerator: h100\n"
        "trt_llm:\n"
        "  build:\n"
        "    quantisation_type: fp8\n"
        "    max_batch_size: 9999\n"
        "    max_seq_len: '4096'\n"
        "    checkpoint_repository: {source: HF, repo: 'a b'}\n"
        "    kv_cache_free_gpu_mem_fraction: 0.5\n"
        "foo: 1\n"
    )
    assert {path: (error.line, error.problem) for path, error in errors.items()} == {
        "resources.accelerator": (2, Problem.NOT_ALLOWED),
        "trt_llm.build.quantisation_type": (5, Problem.UNKNOWN_KEY),
        "trt_llm.build.max_batch_size": (6, Problem.NOT_ALLOWED),
        "trt_llm.build.max_seq_len": (7, Problem.WRONG_TYPE),
        "trt_llm.build.checkpoint_repository.repo": (8, Problem.NOT_ALLOWED),
        "trt_llm.build.kv_cache_free_gpu_mem_fraction": (9, Problem.MISPLACED_KEY),
        "foo": (10, Problem.UNKNOWN_KEY),
    }
    assert errors["trt_llm.build.max_batch_size"].column == 5
    assert "9999" in errors["trt_llm.build.max_batch_size"].message


@pytest.mark.parametrize(
    ("build", "path", "hint"),
    [
        ("quantisation_type: fp8", "quantisation_type", "Did you mean `quantization_type`?"),
        ("tensor_parallel_size: 2", "tensor_parallel_size", "Did you mean `tensor_parallel_count`"),
        ("enable_chunked_context: true", "enable_chunked_context", "`trt_llm.runtime`"),
        ("lora_cache_host_memory_bytes: 1", "lora_cache_host_memory_bytes", "trt_llm.runtime"),
        ("accelerator: H100", "accelerator", "It belongs under `resources`."),
        ("kv_cache_free_gpu_memory_fraction: 1", "kv_cache_free_gpu_memory_fraction",
         "Did you mean `trt_llm.runtime.kv_cache_free_gpu_mem_fraction`?"),
        ("lora_adapters: {x: {source: HF, repoo: a/b}}", "lora_adapters.x.repoo",
         "Did you mean `repo`?"),
        ("lora_configuration: {rank: 4}", "lora_configuration.rank", "`max_lora_rank`"),
        ("lora_adapters: {x: {source: HF, repo: a/b, token: c}}", "lora_adapters.x.token",
         "Store it as a secret"),
        ("max_seq_len: '10'", "max_seq_len", "without quotes"),
        ("base_model: Decoder", "base_model", "Did you mean `decoder`?"),
        ("quantization_config: {calib_size: 100}", "quantization_config.calib_size", None),
        ("lora_adapters: {'a b': {source: HF, repo: a/b}}", "lora_adapters.a b", None),
        ("max_beam_width: 2", "max_beam_width", None),
        ("num_builder_gpus: true", "num_builder_gpus", None),
    ],
)  # fmt: skip
def test_an_error_says_what_was_meant(build: str, path: str, hint: str | None) -> None:
    error = _errors(_engine(build))[f"trt_llm.build.{path}"]
    assert error.line == 4
    if hint is not None:
        assert hint in (error.hint or "")


def test_a_misplaced_key_offers_the_move() -> None:
    error = _errors(_engine(rest="  plugin_configuration: {paged_kv_cache: true}"))
    assert error["trt_llm.plugin_configuration"].patch == {
        "trt_llm.plugin_configuration": None,
        "trt_llm.build.plugin_configuration": {"paged_kv_cache": True},
    }


def test_absent_trt_llm_says_what_is_missing() -> None:
    error = _errors("model_name: x\n")["trt_llm"]
    assert error.problem is Problem.MISSING
    assert "checkpoint" in error.message


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("trt_llm: {build: {}}", "trt_llm.build.checkpoint_repository"),
        ("trt_llm: {}", "trt_llm.build"),
        ("trt_llm: {inference_stack: v3, build: {}}", "trt_llm.inference_stack"),
        (f"trt_llm: {{inference_stack: v2, build: {{{CHECKPOINT}}}}}", "trt_llm.runtime"),
        (f"trt_llm: {{inference_stack: v2, runtime: {{}}, build: {{max_seq_len: 9, {CHECKPOINT}}}}}"
         "\n",
         "trt_llm.build.max_seq_len"),
        (_engine(rest="requirements: [a]\nrequirements_file: b"), "requirements_file"),
        (_engine(rest="build: {no_cache: true}"), "build.no_cache"),
        (_engine(rest="environment_variables: null"), "environment_variables"),
        (_engine(rest="enginehouse: {runtime: cuda}"), "enginehouse.runtime"),
        (_engine(rest="enginehouse: {poool: a}"), "enginehouse.poool"),
        (_engine(rest="model_metadata: {enginehouse: {poool: a}}"),
         "model_metadata.enginehouse.poool"),
        (_engine(rest="resources: {memory: lots}"), "resources.memory"),
        (_engine(rest="resources: {accelerator: 'H100:0'}"), "resources.accelerator"),
        (_engine(rest="python_version: py27"), "python_version"),
        (_engine(rest="runtime: {transport: {kind: smoke}}"), "runtime.transport.kind"),
        (_engine(rest="weights: [{source: 'ftp://x', mount_location: /a}]"), "weights.0.source"),
    ],
)  # fmt: skip
def test_what_the_schema_refuses(text: str, path: str) -> None:
    assert path in _errors(text)


def test_a_duplicate_key_is_refused_beside_other_errors() -> None:
    errors = _errors("model_name: a\nmodel_name: b\nfoo: 1\n")
    assert errors["model_name"].problem is Problem.DUPLICATE_KEY
    assert errors["model_name"].line == 2
    assert "foo" in errors


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n",
        "a: [1, 2\n",
        "a: b: c\n",
        "a: &x [1]\nb: *y\n",
        "1: a\n",
        "a: !!python/object:os.system {}\n",
        "a: .nan\n",
        'a: "\\0"\n',
        "a: 1\n---\nb: 2\n",
        "a: " + "[" * 100_000,
        "x: " + "9" * 5000,
        "a" * 300_000,
        "\tfoo: 1",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        "{" * 50_000,
        '{"a":' * 2000,
        "? [a]\n: b\n",
        "<<: 1\n",
    ],
)
def test_unreadable_text_is_one_clear_error(text: str) -> None:
    result = parse_text(text)
    assert result.spec is None
    assert result.errors
    assert all(error.message for error in result.errors)


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (error,) = parse_text("\n".join(lines)).errors
    assert "20,000" in error.message
    assert error.line is not None


def test_aliases_and_merge_keys_work_in_moderation() -> None:
    text = (
        "model_metadata:\n  shared: &shared {source: HF, repo: owner/name}\n"
        "trt_llm:\n  build:\n    checkpoint_repository:\n      <<: *shared\n      revision: main\n"
    )
    spec = parse_text(text).spec
    assert spec is not None
    assert spec.checkpoint is not None
    assert (spec.checkpoint.repo, spec.checkpoint.revision) == ("owner/name", "main")


def test_json_text_is_read_with_places() -> None:
    text = json.dumps({"trt_llm": {"build": {"max_batch_size": 0}}}, indent=2)
    errors = _errors(text)
    assert errors["trt_llm.build.max_batch_size"].line == 4


def test_a_form_is_read_like_text() -> None:
    result = parse_mapping({"trt_llm": {"build": {"max_batchsize": 4}}})
    assert {error.path for error in result.errors} == {
        "trt_llm.build.max_batchsize",
        "trt_llm.build.checkpoint_repository",
    }
    assert all(error.line is None for error in result.errors)


def test_own_settings_are_read_from_either_place() -> None:
    top = parse_text(_engine(rest="enginehouse: {pool: gpu-a, draft_factor: 4}")).spec
    inside = parse_text(_engine(rest="model_metadata: {enginehouse: {pool: gpu-b}}")).spec
    assert top is not None
    assert inside is not None
    assert (top.pool, top.settings.draft_factor, inside.pool) == ("gpu-a", 4, "gpu-b")
    both = "enginehouse: {pool: a}\nmodel_metadata: {enginehouse: {pool: b}}"
    assert "enginehouse" in _errors(_engine(rest=both))


def test_environment_variables_become_text() -> None:
    spec = parse_text(_engine(rest="environment_variables: {A: true, B: 1, C: x}")).spec
    assert spec is not None
    assert spec.environment_variables == {"A": "true", "B": "1", "C": "x"}


@pytest.mark.parametrize(
    ("sizes", "length"),
    [((3, 8, 3), 41), ((1, 8, 1), 13), ((1, 32, 1), 61), ((7, 5, 7), 55), ((5, 5, 5), 39),
     ((7, 5, 3), 39), ((10, 40, 10), 779), ((64, 64, 64), 8063), ((1, 1, 1), 0)],
)  # fmt: skip
def test_draft_length_is_the_measured_one(sizes: tuple[int, int, int], length: int) -> None:
    window, ngram, verification = sizes
    spec = parse_text(
        _engine(
            f"speculator: {{lookahead_windows_size: {window}, lookahead_ngram_size: {ngram},"
            f" lookahead_verification_set_size: {verification}}}"
        )
    ).spec
    assert spec is not None
    assert spec.speculator is not None
    assert spec.speculator.draft_length == length


@examples(250)
@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%@`,?<\n\t 0.~\\u1\x85\u2028é🙂"), max_size=40))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    for candidate in (text, f"{{{text}", f"trt_llm:\n  build: {text}"):
        result = parse_text(candidate)
        assert (result.spec is None) == bool(result.errors)


@examples(250)
@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_raise(content: bytes) -> None:
    parse_text(content.decode("latin-1"))
    parse_text(content.decode("utf-8", errors="surrogateescape"))


def test_a_setting_that_was_taken_back_says_what_replaced_it() -> None:
    build = {
        "checkpoint_repository": {"source": "LOCAL", "repo": "/x"},
        "plugin_configuration": {"gemm_plugin": "auto"},
    }
    (error,) = parse_mapping({"trt_llm": {"build": build}}).errors
    assert error.path == "trt_llm.build.plugin_configuration.gemm_plugin"
    assert "taken back" in (error.hint or "")
    assert error.patch == {error.path: None}
