"""Each preset passes the checks but for what this release does not build yet."""

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.presets import PRESETS, Preset
from controlplane.domain.rules import Known, Severity, examine
from controlplane.domain.rules.examples import (
    BERT,
    EVERY_KIND,
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    SMOLLM2_135M,
)

RERANKER = BERT.model_copy(
    update={"architecture": "BertForSequenceClassification", "pooling": None, "labels": 1}
)
CLASSIFIER = RERANKER.model_copy(update={"labels": 2})
CHECKPOINTS: dict[str, CheckpointFacts] = {
    "try-on-a-cpu": SMOLLM2_135M,
    "small-model-on-l4": LLAMA_8B.model_copy(update={"parameters": 3_212_749_824, "layers": 28}),
    "large-model-on-four-h100": LLAMA_70B,
    "code-with-lookahead": QWEN2_7B,
    "embeddings": BERT,
    "lowest-latency": LLAMA_8B,
    "highest-throughput": LLAMA_8B,
    "json-extraction": QWEN2_7B,
    "reranker": RERANKER,
    "classifier": CLASSIFIER,
}


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_has_no_error_of_its_own(preset: Preset) -> None:
    known = Known(
        checkpoint=CHECKPOINTS[preset.name],
        secret_names=frozenset({"hf_access_token"}),
        devices=EVERY_KIND,
    )
    examination = examine(preset.text, known)
    assert examination.errors == ()
    serious = {f.code for f in examination.report.findings if f.severity is not Severity.HINT}
    assert serious == set()


def test_the_cpu_preset_can_be_built_in_this_release() -> None:
    preset = next(preset for preset in PRESETS if preset.name == "try-on-a-cpu")
    known = Known(checkpoint=SMOLLM2_135M, secret_names=frozenset(), devices=EVERY_KIND)
    assert not examine(preset.text, known).blocks_build
