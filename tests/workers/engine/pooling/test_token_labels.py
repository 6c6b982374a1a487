"""Labels of tokens, and the names that they make up, are those of Transformers' pipeline."""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
import uvicorn
from baseten_performance_client import PerformanceClient
from huggingface_hub import InferenceClient
from starlette.testclient import TestClient
from transformers import AutoTokenizer, pipeline

from tests.workers.engine.pooling.encoders import make_encoder, serving
from workers.engine.pooling.names import Names, Strategy
from workers.engine.pooling.rows import Row

pytestmark = pytest.mark.engine
LABELS = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}
TEXTS = ("Ada went to Paris with Grace", "the sea is blue")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(
        "Bert", tmp_path_factory.mktemp("labels") / "bert", head="ForTokenClassification",
        id2label=LABELS, label2id={label: number for number, label in LABELS.items()},
    )  # fmt: skip


def ask(client: TestClient, **body: Any) -> Any:
    answer = client.post("/predict_tokens", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_token_has_its_place_and_a_score_for_every_label(folder: Path) -> None:
    with serving(folder) as client:
        answer = ask(client, inputs=[[text] for text in TEXTS])
        raw = ask(client, inputs=TEXTS[1], raw_scores=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    expected = pipeline("token-classification", str(folder), ignore_labels=[])(list(TEXTS))
    for tokens, theirs in zip(answer, expected, strict=True):
        for ours, their in zip(tokens, theirs, strict=True):
            assert (ours["token"], ours["start"], ours["end"]) == (
                their["word"], int(their["start"]), int(their["end"]),
            )  # fmt: skip
            assert tokenizer.convert_ids_to_tokens(ours["token_id"]) == ours["token"]
            assert list(ours["results"]) == list(LABELS.values())
            assert sum(ours["results"].values()) == pytest.approx(1)
            assert max(ours["results"].values()) == pytest.approx(float(their["score"]), abs=1e-5)
            assert max(ours["results"], key=ours["results"].__getitem__) == their["entity"]
    assert len(raw) == len(answer[1])
    assert sum(raw[0]["results"].values()) != pytest.approx(1)


@pytest.mark.parametrize("strategy", ["simple", "first", "average", "max"])
def test_names_are_joined_as_the_pipeline_joins_them(folder: Path, strategy: str) -> None:
    with serving(folder) as client:
        answer = ask(client, inputs=[[t] for t in TEXTS], aggregation_strategy=strategy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a tokenizer without marks for words
        named = pipeline("token-classification", str(folder), aggregation_strategy=strategy)
        expected = named(list(TEXTS))
    for text, ours, theirs in zip(TEXTS, answer, expected, strict=True):
        assert [(e["start"], e["end"], list(e["results"])) for e in ours] == [
            (e["start"], e["end"], [e["entity_group"]]) for e in theirs
        ]
        scores = [next(iter(each["results"].values())) for each in ours]
        assert scores == pytest.approx([float(e["score"]) for e in theirs], abs=1e-5)
        assert [each["token"] for each in ours] == [text[e["start"] : e["end"]] for e in ours]


@pytest.mark.parametrize("strategy", [None, "none", "first"])
def test_the_hubs_client_reads_what_the_pipeline_answers(
    folder: Path, strategy: str | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a tokenizer without marks for words
        named = pipeline(
            "token-classification", str(folder), aggregation_strategy=strategy or "simple"
        )
        expected, without = named(TEXTS[0]), named(TEXTS[0], ignore_labels=["LOC"])
    with serving(folder) as client, listening(client) as url:
        hub = InferenceClient(url)
        token_classification = hub.token_classification(TEXTS[0], aggregation_strategy=strategy)
        kept = hub.token_classification(TEXTS[0], ignore_labels=["LOC"])
    group = "entity" if strategy == "none" else "entity_group"
    assert [(e[group], e.word, e.start, e.end) for e in token_classification] == [
        (e[group], e["word"], e["start"], e["end"]) for e in expected
    ]
    assert [e.score for e in token_classification] == pytest.approx(
        [e["score"] for e in expected], abs=1e-5
    )
    if strategy is None:
        assert [each.word for each in kept] == [each["word"] for each in without]
        assert len(without) < len(expected)


@contextmanager
def listening(client: TestClient) -> Iterator[str]:
    """Let the engine answer on a port, for clients that bring their own connections."""
    listener = socket.create_server(("127.0.0.1", 0))  # whoever connects early waits in its queue
    server = uvicorn.Server(uvicorn.Config(client.app, log_config=None, lifespan="off", ws="none"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def test_the_performance_client_posts_batches_of_texts_to_label(folder: Path) -> None:
    payloads = [
        {"inputs": [[text]], "raw_scores": False, "truncate": False,
         "truncation_direction": "Right", "aggregation_strategy": "simple"}
        for text in TEXTS
    ]  # fmt: skip
    with serving(folder) as client, listening(client) as url:
        outcome = PerformanceClient(base_url=url, api_key="none").batch_post(
            "/predict_tokens", payloads
        )
        expected = [ask(client, **payload) for payload in payloads]
    for ours, theirs in zip(outcome.data, expected, strict=True):
        for label, same in zip(ours[0], theirs[0], strict=True):
            # Which texts share a forward moves the last digits of a score.
            scores = {name: pytest.approx(score) for name, score in same["results"].items()}
            assert label == same | {"results": scores}


def test_a_pair_and_an_unknown_strategy_are_refused(folder: Path) -> None:
    with serving(folder) as client:
        pair = client.post("/predict_tokens", json={"inputs": [["a", "b"]]})
        unknown = client.post(
            "/predict_tokens", json={"inputs": "a", "aggregation_strategy": "sum"}
        )
    assert (pair.status_code, unknown.status_code) == (422, 422)
    assert "one text at a time" in pair.json()["error"]
    assert unknown.json()["param"] == "aggregation_strategy"


def test_a_word_in_pieces_has_one_label_and_two_beginnings_are_two_names(folder: Path) -> None:
    text, places = "parisy bonn rome", [(0, 2), (2, 6), (7, 11), (12, 16)]
    scores = torch.tensor(
        [[0.1, 0, 0, 0.8, 0.1], [0.9, 0, 0, 0.05, 0.05], [0.2, 0, 0, 0.1, 0.7], [0.1, 0, 0, 0.9, 0]]
    )
    row = Row(ids=[5, 6, 7, 8], offsets=places, special=[0] * 4)
    with serving(folder) as client:
        engine = client.app.state.engine
        names = Names(engine.model.module, engine.encoder)

    def found(strategy: Strategy) -> list[tuple[str, int]]:
        return [
            (each["token"], each["token_id"]) for each in names.join(text, row, scores, strategy)
        ]

    assert found("simple") == [("pa", 5), ("bonn", 7), ("rome", 8)]
    assert found("first") == [("parisy bonn", 5), ("rome", 8)]
    assert found("max") == [("bonn", 7), ("rome", 8)]
    assert found("average") == [("bonn", 7), ("rome", 8)]
