"""Lookahead under vLLM is drafted by our class, or by its n-gram where it has no place for that."""

import json
import shlex
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.runtimes.vllm import drafter
from controlplane.domain.runtimes.vllm.capabilities import VERSIONS
from controlplane.domain.spec import parse_mapping
from tests.domain.runtimes.vllm.test_drafts_beside_adapters import DRAFTS, example

NO_HOOK = MappingProxyType({"0.33": False})


def _drafts(version: str, **speculator: Any) -> dict[str, Any]:
    ((path, request),) = DRAFTS.items()
    spec = parse_mapping(example({path: {**request, **speculator}}).content).spec
    assert spec is not None
    start = Start(
        model_dir="/m", host="127.0.0.1", port=1, python="p", threads=1, memory_bytes=1,
        version=version,
    )  # fmt: skip
    argv = RUNTIMES["vllm"].render(spec, LLAMA_8B, start).argv
    content: dict[str, Any] = json.loads(argv[argv.index("--speculative-config") + 1])
    return content


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_drafts_by_our_class_and_says_so(version: str) -> None:
    assert _drafts(version) == {
        "method": "custom_class", "model": drafter.CLASS, "num_speculative_tokens": 41,
    }  # fmt: skip
    can = RUNTIMES["vllm"].capabilities.capability(Feature.LOOKAHEAD, "H200", version)
    assert "our drafter" in can.how


def test_a_version_without_the_hook_drafts_by_its_own_ngram_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drafter, "HAS_DRAFTER_HOOK", NO_HOOK)
    assert _drafts("0.33")["method"] == "ngram"
    can = RUNTIMES["vllm"].capabilities.capability(Feature.LOOKAHEAD, "H200", "0.33")
    assert can.claimed is Support.EMULATED
    assert "n-gram" in can.how


@pytest.mark.parametrize("hook", [True, False])
def test_no_more_is_drafted_than_the_engine_verifies(
    hook: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hook:
        monkeypatch.setattr(drafter, "HAS_DRAFTER_HOOK", NO_HOOK)
    drafted = _drafts("0.33", lookahead_ngram_size=256)["num_speculative_tokens"]
    assert drafted == drafter.MOST_DRAFTED == 128
    assert "no more than 128 at once, of the 600" in drafter.reason(600)
    assert "at once" not in drafter.reason(128)


def test_the_words_of_our_drafter_are_read_back_as_lookahead() -> None:
    words = shlex.quote(json.dumps(drafter.speculative_config(61)))
    imported = import_command(f"vllm serve a/b --speculative-config {words}")
    assert "speculative_decoding_mode: LOOKAHEAD_DECODING" in imported.text
    assert "lookahead_ngram_size: 32" in imported.text
