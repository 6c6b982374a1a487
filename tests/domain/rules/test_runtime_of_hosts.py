"""What `auto` means by what hosts start, and what is said where nothing can be started."""

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.pooling import Pooling
from controlplane.domain.rules import Finding, Known, examine
from controlplane.domain.rules.examples import BERT, EVERY_KIND, SMOLLM2_135M, Example, facts
from controlplane.domain.spec.edit import edit_yaml

RANKER = facts(architectures=["Qwen3ForCausalLM"], model_type="qwen3").model_copy(
    update={
        "pooling": Pooling(has_modules=True, steps=("sentence_transformers.models.LogitScore",))
    }
)
LLAMA_EMBEDDER = facts(architectures=["LlamaModel"], chat_template=None)


@pytest.mark.parametrize(
    ("devices", "runtime", "kept"), [("H100:2", "vllm", "H100:2"), ("V100:2", "native", "None")]
)
def test_where_vllm_starts_a_config_for_tensorrt_keeps_a_gpu_that_vllm_takes(
    devices: str, runtime: str, kept: str
) -> None:
    known = known_of("native", "vllm")
    text = config_on(devices, "trtllm")
    finding = finding_of(text, known, "EH690")
    assert finding.fix is not None
    mended = examine(edit_yaml(text, finding.fix.patch), known)
    assert mended.spec is not None
    assert (mended.runtime, str(mended.spec.accelerator)) == (runtime, kept)
    assert "EH690" not in {outcome.code for outcome in mended.report.findings}


@pytest.mark.parametrize(
    ("started", "devices", "runtime"),
    [
        (("native", "vllm"), "H100:2", "vllm"),
        (("native", "vllm", "trtllm"), "H100", "vllm"),
        (("native",), "H100", "native"),
        (("native", "trtllm"), "H100:2", "trtllm"),
        (("native", "trtllm"), "H100", "native"),  # run by us, as the other is not
        (("native", "vllm"), "T4", "vllm"),
    ],
)
def test_auto_means_what_hosts_start_first_what_we_ran(
    started: tuple[str, ...], devices: str, runtime: str
) -> None:
    examination = examine(config_on(devices), known_of(*started))
    assert examination.runtime == runtime
    assert "EH690" not in {outcome.code for outcome in examination.report.findings}


@pytest.mark.parametrize(
    ("started", "devices", "said"),
    [
        (("native",), "H100:2", "The hosts with `H100` start `native` alone; `vllm` on H100:2 is"),
        ((), "H100", "There is no host with `H100`; `vllm` on H100 is checked"),
    ],
)
def test_where_nothing_can_start_it_the_words_and_the_fix_name_what_is_there(
    started: tuple[str, ...], devices: str, said: str
) -> None:
    known, text = known_of(*started), config_on(devices)
    finding = finding_of(text, known, "EH690")
    assert finding.message.startswith(said)
    assert finding.fix is not None
    mended = examine(edit_yaml(text, finding.fix.patch), known)
    assert (mended.runtime, mended.spec and mended.spec.accelerator) == ("native", None)


@pytest.mark.parametrize(
    ("quantization", "checkpoint", "runtime"),
    [
        ("no_quant", BERT, "native"),
        ("fp8", LLAMA_EMBEDDER, "vllm"),  # the native engine would expand it
        ("fp8", RANKER, "native"),  # which alone asks it for its answer
        ("no_quant", facts(architectures=["NewModel"], model_type="new"), "vllm"),
    ],
)
def test_auto_serves_vectors_with_the_native_engine_where_it_computes_in_their_precision(
    quantization: str, checkpoint: CheckpointFacts, runtime: str
) -> None:
    config = {
        "resources.accelerator": "L4", "trt_llm.build.base_model": "encoder",
        "trt_llm.build.quantization_type": quantization,
    }  # fmt: skip
    example = Example(
        config=config, checkpoint=checkpoint, runtimes=frozenset({"native", "vllm", "trtllm"})
    )
    assert examine(example.content, example.known).runtime == runtime


def config_on(devices: str, runtime: str = "auto") -> str:
    return (
        f"resources:\n  accelerator: {devices}\n"
        "trt_llm:\n  build:\n    tensor_parallel_count: "
        f"{devices.partition(':')[2] or 1}\n"
        "    checkpoint_repository: {source: LOCAL, repo: /x}\n"
        f"enginehouse: {{runtime: {runtime}}}\n"
    )


def known_of(*started: str) -> Known:
    return Known(
        checkpoint=SMOLLM2_135M, secret_names=frozenset(), devices=EVERY_KIND,
        runtimes=frozenset(started),
    )  # fmt: skip


def finding_of(text: str, known: Known, code: str) -> Finding:
    return next(outcome for outcome in examine(text, known).report.findings if outcome.code == code)
