"""What a model does is told by its files, whatever its repository is called."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.encoder_routes import default_route
from controlplane.domain.proposal import Named, propose
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts
from controlplane.domain.spec import parse_text

_REPO = "trt_llm.build.checkpoint_repository.repo"
_ROUTE = "trt_llm.runtime.webserver_default_route"
ENCODER = {"resources.accelerator": "L4", "trt_llm.build.base_model": "encoder"}
ON_H100 = {"resources.accelerator": "H100"}


def codes(config: dict[str, Any], checkpoint: CheckpointFacts) -> dict[str, str]:
    example = Example(config=config, checkpoint=checkpoint)
    report = examine(example.content, example.known).report
    return {each.code: each.message for each in report.findings}


def classifier(labels: int) -> CheckpointFacts:
    return facts(
        architectures=["LlamaForSequenceClassification"],
        id2label={str(each): f"LABEL_{each}" for each in range(labels)},
    )


def test_a_causal_reranker_is_known_by_what_is_asked_of_it_or_its_files_and_not_by_its_name() -> (
    None
):
    scored = LLAMA_8B.model_copy(update={"files": ("1_LogitScore/config.json", "config.json")})
    assert "EH629" in codes({**ENCODER, _ROUTE: "/rerank"}, LLAMA_8B)
    assert "EH629" in codes(ENCODER, scored)
    assert "EH629" not in codes({**ENCODER, _REPO: "/models/a-reranker"}, LLAMA_8B)
    assert "EH629" not in codes({**ENCODER, _ROUTE: "/rerank"}, classifier(1))


@pytest.mark.parametrize(
    ("labels", "route", "is_refused"),
    [(1, "/rerank", False), (1, "/predict", False), (2, "/rerank", True), (2, "/predict", False),
     (3, "/rerank", True)],
)  # fmt: skip
def test_ranking_takes_a_classifier_of_one_label(labels: int, route: str, is_refused: bool) -> None:
    outcome = codes({**ENCODER, _ROUTE: route}, classifier(labels))
    assert ("EH634" in outcome) is is_refused
    if is_refused:
        assert f"with {labels} labels answers at `/predict`" in outcome["EH634"]


@pytest.mark.parametrize(("labels", "route"), [(1, "/rerank"), (2, "/predict"), (0, "/predict")])
def test_a_classifier_is_asked_and_proposed_where_its_head_answers(labels: int, route: str) -> None:
    checkpoint = classifier(labels)
    assert default_route(checkpoint) == route
    named = Named(source="HF", repo="owner/name")
    text = propose(checkpoint, named, ()).text
    spec = parse_text(text).spec
    assert spec is not None
    assert spec.trt_llm.runtime.webserver_default_route == route


def test_text_to_speech_on_a_language_model_is_known_by_its_tokens() -> None:
    tokens = {str(128_256 + at): {"content": f"<custom_token_{at}>"} for at in range(28_682)}
    llama = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 156_940}
    by_tokenizer = checkpoints.read(
        {**llama, "vocab_size": 200_000}, tokenizer_config={"added_tokens_decoder": tokens}
    )
    assert by_tokenizer.sound_tokens == 28_682
    assert "EH613" in codes(ON_H100, by_tokenizer)
    assert "EH613" in codes(ON_H100, checkpoints.read(llama))
    assert "EH613" not in codes({**ON_H100, _REPO: "/models/orpheus-notes"}, LLAMA_8B)


@pytest.mark.parametrize(
    ("architecture", "model_type"),
    [
        ("WhisperForConditionalGeneration", "whisper"), ("Wav2Vec2ForCTC", "wav2vec2"),
        ("SpeechT5ForTextToSpeech", "speecht5"), ("CsmForConditionalGeneration", "csm"),
        ("DiaForConditionalGeneration", "dia"), ("BarkModel", "bark"), ("VitsModel", "vits"),
        ("SeamlessM4Tv2Model", "seamless_m4t_v2"), ("ParakeetForCTC", "parakeet_ctc"),
        ("MoonshineForConditionalGeneration", "moonshine"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("runtime", ["vllm", "trtllm", "native", "auto"])
def test_a_speech_model_is_refused_by_name_on_every_runtime(
    architecture: str, model_type: str, runtime: str
) -> None:
    checkpoint = checkpoints.read({"architectures": [architecture], "model_type": model_type})
    outcome = codes({**ON_H100, "enginehouse.runtime": runtime}, checkpoint)
    assert f"`{architecture}` is a speech model" in outcome["EH611"]
    assert "vLLM server" in outcome["EH611"]


@pytest.mark.parametrize(
    "own",
    [{"requirements": ["torch"]}, {"model_class_name": "Model"},
     {"docker_server": {"start_command": "serve"}}],
)  # fmt: skip
def test_a_model_of_ones_own_code_is_told_that_it_cannot_run(own: dict[str, Any]) -> None:
    report = examine({"model_name": "own", **own}, Example().known).report
    message = next(each.message for each in report.findings if each.code == "EH006")
    assert f"`{next(iter(own))}` says that this is a model with code of its own" in message


def test_a_slice_of_a_gpu_is_a_kind_of_its_own_that_is_planned_for() -> None:
    config = {"resources.accelerator": "H100_40GB"}
    example = Example(config=config, checkpoint=LLAMA_8B)
    plan = examine(example.content, example.known).plan
    whole = Example(config=ON_H100, checkpoint=LLAMA_8B)
    larger = examine(whole.content, whole.known).plan
    assert plan is not None
    assert larger is not None
    assert 0 < plan.kv_tokens < larger.kv_tokens


@pytest.mark.parametrize(
    ("repo", "files", "is_said"),
    [
        ("/models/Qwen3-Reranker-8B", (), True),
        ("/models/scores", ("1_LogitScore/config.json",), True),
        ("/models/chat", (), False),
    ],
)
def test_a_reranker_that_is_served_as_text_gets_a_hint_and_no_more(
    repo: str, files: tuple[str, ...], is_said: bool
) -> None:
    model = LLAMA_8B.model_copy(update={"files": files})
    example = Example(config={**ON_H100, _REPO: repo}, checkpoint=model)
    report = examine(example.content, example.known).report
    findings = [each for each in report.findings if each.code == "EH684"]
    assert [each.severity.value for each in findings] == (["hint"] if is_said else [])
    assert "EH684" not in codes({**ENCODER, _REPO: repo}, model)
