"""A real embedder from its config to vectors in FP8, through the whole product."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from apps.dashboard.demo.question import endpoint
from tests.e2e.installation import installation
from tests.waiting import DEADLINE_SECONDS
from tests.workers.engine.pooling.minilm import minilm

pytestmark = [pytest.mark.e2e, pytest.mark.long]
TEXTS = ("A cat sleeps on the mat.", "The cat is asleep on a rug.", "Interest rates rose.")
YAML = """\
model_name: minilm
trt_llm:
  build:
    base_model: encoder
    checkpoint_repository:
      source: LOCAL
      repo: minilm
    quantization_type: fp8
    quantization_config:
      calib_dataset: enginehouse/general
      calib_max_seq_length: 256
enginehouse:
  calibration:
    samples: 16
"""


def test_an_embedder_is_quantized_gated_deployed_and_answers_with_vectors(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with installation(tmp_path) as running:
        shutil.copytree(minilm(), tmp_path / "checkpoints" / "minilm")
        model = running.deploy(YAML)
        build = running.get(f"builds/{model['deployment']['build_id']}")
        results = {step["name"]: step["result"] for step in build["steps"]}
        assert results["gate"]["state"] == "passed"
        assert results["gate"]["figures"]["mean_cosine"] > 0.99
        assert "Vectors of 384 numbers" in results["smoke_test"]["answer"]
        base_url = endpoint(gateway_url=running.services.gateway_url, model_id=model["id"])
        answer = httpx.post(
            f"{base_url}/embeddings",
            headers={"Authorization": f"Bearer {running.api_key}"},
            json={"model": "minilm", "input": list(TEXTS)},
            timeout=DEADLINE_SECONDS,
        )
        assert answer.status_code == httpx.codes.OK, answer.text
        one, near, far = (each["embedding"] for each in answer.json()["data"])
        assert cosine(one, near) > 0.5 > cosine(one, far)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
