"""A whole config from a checkpoint's facts alone."""

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory import GpuOffer
from controlplane.domain.proposal import Named, best_rows, propose
from controlplane.domain.rules import Known, Severity, examine
from controlplane.domain.rules.examples import (
    BERT,
    EVERY_KIND,
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    SMOLLM2_135M,
    facts,
)

NAMED = Named(source="HF", repo="maker/the-model", secret_name="hf_access_token")
TWO_L4 = GpuOffer(kind="L4", count=2, memory_bytes=23 * 1024**3)
MIXTURE = facts(architectures=["Qwen3MoeForCausalLM"], num_experts=64, num_experts_per_tok=8)


@pytest.mark.parametrize(
    "checkpoint", [SMOLLM2_135M, LLAMA_8B, LLAMA_70B, QWEN2_7B, BERT, MIXTURE],
    ids=lambda checkpoint: checkpoint.architecture,
)  # fmt: skip
@pytest.mark.parametrize("owned", [(), (TWO_L4,)], ids=["nothing", "two L4"])
def test_a_proposal_passes_the_checks(
    checkpoint: CheckpointFacts, owned: tuple[GpuOffer, ...]
) -> None:
    text = propose(checkpoint, NAMED, owned).text
    known = Known(
        checkpoint=checkpoint, secret_names=frozenset({"hf_access_token"}), devices=EVERY_KIND
    )
    examination = examine(text, known)
    assert examination.errors == ()
    findings = examination.report.findings
    assert [each.code for each in findings if each.severity is Severity.ERROR] == []


def test_devices_that_are_there_come_before_better_ones() -> None:
    proposal = propose(LLAMA_8B, NAMED, (TWO_L4,))
    assert proposal.row is not None
    assert proposal.row.offer is TWO_L4
    assert "accelerator: L4" in proposal.text


def test_a_small_model_without_any_gpu_goes_to_the_cpu() -> None:
    proposal = propose(SMOLLM2_135M, NAMED, ())
    assert proposal.runtime == "native"
    assert "accelerator" not in proposal.text


def test_a_chosen_row_is_what_the_config_says() -> None:
    rows = best_rows(LLAMA_70B, NAMED, ())
    row = next(each for each in rows if each.offer.kind == "H100" and each.devices == 4)
    text = propose(LLAMA_70B, NAMED, (), row).text
    assert "accelerator: H100:4" in text
    assert "tensor_parallel_count: 4" in text


def test_another_secret_than_the_usual_is_named_by_the_checkpoint() -> None:
    named = Named(source="HF", repo="maker/the-model", secret_name="other")
    assert "runtime_secret_name: other" in propose(LLAMA_8B, named, ()).text
