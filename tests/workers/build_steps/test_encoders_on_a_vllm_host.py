"""Encoders on a host that starts vLLM: its stand-in has the routes that vLLM has, and no others."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_mapping
from controlplane.sources import folder_facts
from tests.workers.build_steps.supervising import Supervisor, finished, package
from tests.workers.build_steps.test_builds_on_a_vllm_host import STAND_IN, offer
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from workers.build_steps import outputs

pytestmark = [pytest.mark.engine, pytest.mark.process]
_LONG = pytest.mark.long
_CLASSIFIES, _LABELS = "ForSequenceClassification", "ForTokenClassification"


@pytest.fixture(autouse=True)
def _host_with_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_PYTHON", str(STAND_IN))


def spec_on_vllm(folder: Path) -> dict[str, Any]:
    parsed = parse_mapping(
        {
            "model_name": "tiny",
            "resources": {"accelerator": "L4"},
            "trt_llm": {
                "build": {
                    "base_model": "encoder_bert",
                    "checkpoint_repository": {"source": "LOCAL", "repo": str(folder)},
                }
            },
            "enginehouse": {"runtime": "vllm"},
        }
    )
    assert parsed.spec is not None, parsed.errors
    return parsed.spec.model_dump(mode="json")


@pytest.mark.parametrize(
    ("head", "labels", "said", "predict_route"),
    [
        ("Model", 2, "Vectors of 2 numbers", "/v1/embeddings"),
        pytest.param(_CLASSIFIES, 1, "0.9000 for the first text", "/rerank", marks=_LONG),
        pytest.param(_CLASSIFIES, 3, "LABEL_", "/classify", marks=_LONG),
        pytest.param(_LABELS, 3, "Scores for 2 tokens.", "/pooling", marks=_LONG),
    ],
)
def test_an_encoder_builds_under_vllm_and_is_asked_where_vllm_answers(
    head: str, labels: int, said: str, predict_route: str, tmp_path: Path
) -> None:
    folder = make_encoder("Bert", tmp_path / "checkpoints" / "bert", head=head, num_labels=labels)
    if head == "Model":
        write_sentence_files(folder, {"pooling_mode": "mean"})
    spec = spec_on_vllm(folder)
    supervisor = Supervisor(folder=tmp_path / "work", roots=(str(folder.parent),))
    supervisor.folder.mkdir()
    supervisor.options["devices"] = [offer("L4")]
    built = package(supervisor, spec)
    outcome = outputs.read(finished(supervisor, "smoke_test", spec, **built.folders)).values
    assert (outcome["kind"], outcome["engine"]["engine"]) == ("encoder", "vllm")
    assert outcome["answer"].startswith(said)
    facts = folder_facts(folder, commit="c1")
    assert RUNTIMES["vllm"].predict_route(None, facts) == predict_route
