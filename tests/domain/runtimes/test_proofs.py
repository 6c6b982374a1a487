"""A cell says that something runs only where a kept run or a test shows it."""

import json
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest

from controlplane.domain.facts.gpus import CPU, PLANNABLE_GPUS
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import Example
from controlplane.domain.runtimes import RUNTIMES, Capability, Feature, Support
from controlplane.domain.runtimes.capability import Proof
from controlplane.domain.runtimes.requested_features import cell

ROOT = Path(__file__).parents[3]
SHOWN = (Support.NATIVE, Support.EMULATED)


def cells(runtime: str) -> Iterator[tuple[Feature, str, Capability]]:
    """Yield every cell of a table: each version that is known, each kind of GPU."""
    table = RUNTIMES[runtime].capabilities
    for version in getattr(table, "VERSIONS", (None,)):
        for kind in (CPU, *PLANNABLE_GPUS):
            for feature in Feature:
                given = (feature, kind) if version is None else (feature, kind, version)
                yield feature, kind, table.capability(*given)


def proofs() -> list[Proof]:
    return list(
        {
            proof: None
            for runtime in RUNTIMES.values()
            for each in runtime.proofs.PROOFS.values()
            for proof in each
        }
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_cell_is_native_or_emulated_only_where_something_proves_it_on_such_a_device(
    runtime: str,
) -> None:
    for feature, kind, outcome in cells(runtime):
        assert bool(outcome.proofs) == (outcome.support in SHOWN), (feature, kind)
        of_device = PLANNABLE_GPUS[kind].compute_capability if kind in PLANNABLE_GPUS else None
        assert all(proof.compute_capability == of_device for proof in outcome.proofs)
        assert (outcome.claimed is not None) == (outcome.support is Support.UNTESTED)


@pytest.mark.parametrize("proof", proofs(), ids=lambda proof: f"{proof.kept} {proof.shows}")
def test_what_proves_a_cell_is_kept_and_shows_it(proof: Proof) -> None:
    file, _, test = proof.kept.partition("::")
    if test:
        assert f"def {test}(" in (ROOT / file).read_text()
        return
    kept = json.loads((ROOT / file).read_text())
    assert kept["state"] == "done"
    assert kept["gpu"].removeprefix("2 × ").startswith("NVIDIA H200")
    assert reduce(getitem, proof.shows.split("."), kept)


def test_the_runs_that_prove_vllm_are_of_the_version_that_they_are_said_to_be_of() -> None:
    for stage in ("build", "no_quant"):
        kept = json.loads((ROOT / f"benchmarks/results/{stage}-h200-2026-11-28.json").read_text())
        assert kept["smoke_test"]["engine"]["engine"] == "vllm"
        seen = RUNTIMES["vllm"].capabilities.SEEN_VERSION
        assert kept["smoke_test"]["engine"]["version"].startswith(f"{seen}.")


def test_the_tests_of_the_native_engine_passed_on_the_device() -> None:
    kept = json.loads((ROOT / "benchmarks/results/native-h200-2026-11-28.json").read_text())
    assert kept["tests"]["file"] == "tests/workers/engine/test_cuda.py"
    assert kept["tests"]["failed"] == []


def test_nothing_of_tensorrt_llm_is_said_to_run() -> None:
    assert {outcome.support for _, _, outcome in cells("trtllm")} == {
        Support.UNTESTED, Support.REFUSED,
    }  # fmt: skip


@pytest.mark.parametrize("feature", [Feature.TOOLS, Feature.MULTIMODAL, Feature.ADAPTERS])
def test_what_vllm_was_not_asked_on_a_device_is_untested(feature: Feature) -> None:
    table = RUNTIMES["vllm"].capabilities
    assert table.capability(feature, "H100", table.SEEN_VERSION).support is Support.UNTESTED
    assert table.capability(Feature.CHAT, "L4", table.SEEN_VERSION).support is Support.UNTESTED
    assert table.capability(Feature.CHAT, "H100").support is Support.UNTESTED  # a newer version


def test_a_config_is_told_what_of_it_was_not_seen_to_run() -> None:
    seen = _untested("H100", {"trt_llm.build.quantization_type": "fp8_kv"})
    assert seen == ()
    assert _untested("L4", {}) == ("accelerators", "chat")
    encoder = {"trt_llm.build.base_model": "encoder_bert", "enginehouse.runtime": "vllm"}
    assert _untested("H100", encoder) == ()
    assert _untested("L4", encoder) == ("accelerators", "embeddings, reranking and classification")
    for divided, words in (("tensor", ()), ("pipeline", ("pipeline parallelism",))):
        several = {f"trt_llm.build.{divided}_parallel_count": 2}
        assert _untested("H100:2", several) == words


def _untested(device: str, config: dict[str, object]) -> tuple[str, ...]:
    example = Example(config={"resources.accelerator": device, **config})
    return examine(example.content, example.known).untested


_COLUMNS = (Feature.CHAT, Feature.POOLING, Feature.FP8_WEIGHTS, Feature.TENSOR_PARALLEL)
_ROWS = {
    "| native 0.1 | CPU |": ("native", CPU),
    "| native 0.1 | H100, H200 |": ("native", "H200"),
    "| vLLM 0.25 | H100, H200 |": ("vllm", "H200"),
    "| vLLM 0.25 | other GPUs |": ("vllm", "L4"),
    "| TensorRT-LLM 1.2 | any GPU |": ("trtllm", "H200"),
}


@pytest.mark.parametrize("row", _ROWS)
def test_the_first_screen_of_the_readme_says_which_engine_runs_what(row: str) -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:25]
    values = " | ".join(cell(_ROWS[row][0], feature, _ROWS[row][1]).support for feature in _COLUMNS)
    assert f"{row} {values} |" in first_screen
