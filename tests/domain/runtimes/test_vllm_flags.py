"""No command of vLLM holds a flag that its version does not have, or a value that it refuses.

`vllm_flags.json` was read from the argument parser of each release from 0.25.1 to 0.33.0, which
took all of these commands, 2026-11-28.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
import yaml

from controlplane.domain.rules.serving.engine_arguments import v2_example
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.vllm.capabilities import VERSIONS
from controlplane.domain.runtimes.vllm.flags import GRAMMAR
from controlplane.domain.runtimes.vllm.parsers import Kind, parser_for
from controlplane.domain.spec import Spec, parse_mapping
from tests.domain.cases import DATA
from tests.domain.runtimes.engine_fields import all_fields
from tests.domain.runtimes.golden import cases, launch_of
from tests.domain.runtimes.test_drivers import spec_with

FLAGS: Mapping[str, Mapping[str, Any]] = json.loads((DATA / "vllm_flags.json").read_text())
DRAFTS: tuple[dict[str, Any], ...] = (
    {"decoding_type": "NGram", "max_draft_len": 8},
    {"decoding_type": "SA", "max_draft_len": 8, "max_matching_ngram_size": -1},
    {"decoding_type": "Eagle3", "max_draft_len": 3, "speculative_model": "/draft"},
    {"decoding_type": "Draft_Target", "max_draft_len": 3, "speculative_model_dir": "/draft"},
    {"decoding_type": "MTP", "num_nextn_predict_layers": 1},
)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    *({"speculative_config": each} for each in DRAFTS),
    {"kv_cache_config": {"dtype": "fp8", "enable_block_reuse": False, "host_cache_size": 1 << 30}},
    {"kv_cache_config": {"dtype": "bfloat16", "enable_block_reuse": True}},
    {"tool_parser": "qwen3", "reasoning_parser": "deepseek-r1"}, {"tool_call_parser": "hermes"},
    {"tool_parser": "beam", "reasoning_parser": "kimi_k3"}, {"tool_parser": "nobody"},
    {"cuda_graph_config": None}, {"cuda_graph_config": {"batch_sizes": [1, 2, 4]}},
    {"cuda_graph_config": {"max_batch_size": 8}}, {"guided_decoding_backend": "llguidance"},
    {"disable_overlap_scheduler": True, "enable_iter_perf_stats": False, "enable_sleep": True},
    {"stream_interval": 4, "dtype": "bfloat16", "tokenizer_mode": "auto"},
    {"pipeline_parallel_size": 2, "moe_expert_parallel_size": 2},
)  # fmt: skip


@cache
def configs() -> tuple[Spec, ...]:
    """Return what every version is tried with, read when first asked for."""
    return tuple(_configs())


def _configs() -> Iterator[Spec]:
    """Yield the seeds, the public cases, every field once, and every argument that is passed on."""
    yield from cases().values()
    for stack, field, value in all_fields():
        yield spec_with({field: value}, stack)
    for each in ARGUMENTS:
        spec = parse_mapping(v2_example(each).content).spec
        assert spec is not None, each
        yield spec


@pytest.mark.parametrize("version", VERSIONS)
def test_every_command_is_one_that_its_version_takes(version: str) -> None:
    for spec in configs():
        words = _after_serve(launch_of("vllm", spec, version=version))
        assert list(_complaints(words, version)) == [], words


@pytest.mark.parametrize("version", VERSIONS)
def test_vllm_fetches_nothing_that_a_request_names(version: str) -> None:
    for spec in cases().values():
        words = _after_serve(launch_of("vllm", spec, version=version))
        assert words.count("--allowed-media-domains") == 1
        after = words[words.index("--allowed-media-domains") + 1 :]
        assert after[0] == "none.invalid"
        assert after[1].startswith("--"), "the option takes all words up to the next one"
        assert "--allowed-local-media-path" not in words


def test_a_flag_of_another_version_would_be_seen() -> None:
    assert list(_complaints(("--max-num-partial-prefills", "2"), "0.27"))
    assert list(_complaints(("--kv-cache-dtype", "fp9"), "0.30"))
    assert list(_complaints(("--enforce-eager", "true"), "0.30"))
    assert list(_complaints(("--max-num-seqs", "--host", "x"), "0.30"))


def test_an_imported_command_is_read_by_the_flags_of_these_versions() -> None:
    assert [flag for flag, row in FLAGS.items() if row["values"] not in _read_as(flag)] == []


def _read_as(flag: str) -> tuple[str, ...]:
    """Return what the flag may take as it is read here: a repeated flag takes one word a time."""
    name = flag.removeprefix("--")
    name = name if name in GRAMMAR.names else name.removeprefix("no-")
    if name not in GRAMMAR.names:
        return ()
    if name in GRAMMAR.switches:
        return ("none",)
    return ("one", "many") if name in GRAMMAR.many else ("one",)


def test_newer_spellings_of_an_imported_command_mean_what_they_say() -> None:
    text = import_command(
        "vllm serve org/model --enable-log-deltas --disable-chunked-prefill --disable-lora "
        "--spec-method ngram --spec-tokens 8 --max-model-len 4096"
    ).text
    build, runtime = yaml.safe_load(text)["trt_llm"].values()
    assert build["checkpoint_repository"]["repo"] == "org/model"
    assert build["speculator"]["speculative_decoding_mode"] == "LOOKAHEAD_DECODING"
    assert runtime["enable_chunked_context"] is False


def test_parsers_go_by_the_names_that_a_version_has() -> None:
    assert parser_for(Kind.TOOLS, "qwen3", "0.25") == "hermes"
    assert parser_for(Kind.TOOLS, "deepseekv3.1", "0.25") == "deepseek_v31"
    assert parser_for(Kind.REASONING, "deepseek-r1", "0.25") == "deepseek_r1"
    assert parser_for(Kind.TOOLS, "kimi_k3", "0.26") is None
    assert parser_for(Kind.TOOLS, "kimi_k3", "0.27") == "kimi_k3"
    assert parser_for(Kind.REASONING, "hermes", "0.33") is None


def _after_serve(launch: Launch) -> Sequence[str]:
    start = launch.argv.index("serve")
    return launch.argv[start + 2 :]


def _complaints(words: Sequence[str], version: str) -> Iterator[str]:
    """Yield what the argument parser of this version would end at."""
    place = 0
    while place < len(words):
        flag, joined, value = words[place].partition("=")
        following = _values(words[place + 1 :])
        given = [value] if joined else following
        place += 1 + len(following)
        row = FLAGS.get(flag)
        if row is None or not row["since"] <= version <= row["until"]:
            yield f"{flag}: unknown"
        elif not _fits(row, given):
            yield f"{flag}: {given}"


def _values(words: Sequence[str]) -> list[str]:
    end = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return list(words[:end])


def _fits(row: Mapping[str, Any], given: list[str]) -> bool:
    counts = {"none": len(given) == 0, "one": len(given) == 1, "many": len(given) > 0}
    choices = row.get("choices")
    return counts[row["values"]] and (choices is None or set(given) <= set(choices))
