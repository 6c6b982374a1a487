"""A language model that ranks, in FP8 from its folder to an artifact that scores pairs."""

import re
from pathlib import Path

import pytest

from tests.workers.build_steps.test_encoder_builds import EncoderBuild
from tests.workers.engine.pooling.test_language_model_rerankers import make_language_model

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]


def test_it_is_measured_by_its_score_and_asked_for_two_ranks(tmp_path: Path) -> None:
    build = EncoderBuild(make_language_model("Qwen3", tmp_path / "qwen3"), tmp_path)
    build.spec["enginehouse"]["rerank_template"] = "qwen3"
    build.spec["enginehouse"]["gate"]["max_agreement_loss"] = 0.1  # its weights are random
    gate = build.run("calibrate", "gate")
    assert (gate["kind"], gate["figures"]["labels"]) == ("encoder", 1)
    assert gate["figures"]["label_agreement"] >= 0.9
    process = build.run("package", "smoke_test")
    assert process["engine"]["task"] == "rerank"
    assert re.fullmatch(
        r"0\.\d{4} for the first text, 0\.\d{4} for the second\.", process["answer"]
    )
