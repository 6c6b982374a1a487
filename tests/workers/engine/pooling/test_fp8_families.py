"""What a build makes of an encoder in FP8 stays where the encoder was, whichever its family."""

from pathlib import Path

import pytest
import torch

from tests.workers.build_steps.test_encoder_builds import EncoderBuild
from tests.workers.engine.pooling.encoders import (
    FAMILIES,
    TEXTS,
    make_encoder,
    serving,
    vectors,
    write_sentence_files,
)
from workers.engine.pooling.packed import fp8

pytestmark = [pytest.mark.engine, pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_keep_a_cosine_of_0_995(
    tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = make_encoder(family, tmp_path / "original")
    write_sentence_files(original, {"pooling_mode": "mean"}, "Normalize")
    build = EncoderBuild(original, tmp_path)
    build.run("calibrate", "gate")
    with serving(original) as client:
        before = vectors(client, TEXTS)
    monkeypatch.setattr(fp8, "multiplies_fp8", lambda *_: True)  # torch has it for a CPU too
    with serving(build.model, dtype="bfloat16") as client:
        in_fp8 = vectors(client, TEXTS)
        layers = [*client.app.state.engine.model.module.modules()]
        assert any(isinstance(each, fp8.Fp8Linear) for each in layers)
        assert client.get("/info").json()["emulated"] == []
    assert float(torch.nn.functional.cosine_similarity(before, in_fp8).min()) >= 0.995
