"""What clients read of vectors: the shape, fewer dimensions, token ids."""

import base64
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from tests.workers.engine.pooling.encoders import (
    HIDDEN,
    POSITIONS,
    TEXTS,
    make_encoder,
    serving,
    vectors,
    write_sentence_files,
)

pytestmark = pytest.mark.engine
MEAN = {"pooling_mode_mean_tokens": True}
LAST = {"pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True}


def hidden_states(folder: Path, text: str) -> Tensor:
    """Run one text alone, unpadded, through the model that Transformers itself chooses."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    outcome = tokenizer(text, return_tensors="pt", truncation=True, max_length=POSITIONS)
    with torch.inference_mode():
        return model.eval()(**outcome).last_hidden_state[0]


def test_an_embedder_stored_with_its_language_head_answers_without_it(tmp_path: Path) -> None:
    folder = write_sentence_files(
        make_encoder("Qwen3", tmp_path, head="ForCausalLM", tie_word_embeddings=True), LAST
    )
    with serving(folder) as client:
        outcome = vectors(client, TEXTS[:1])[0]
    torch.testing.assert_close(outcome, hidden_states(folder, TEXTS[0])[-1], atol=1e-4, rtol=1e-4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_encoder("Bert", tmp_path_factory.mktemp("encoder") / "bert")
    return write_sentence_files(made, MEAN, "Normalize")


def test_the_shape_is_openais_and_usage_counts_what_was_read(folder: Path) -> None:
    with serving(folder) as client:
        answer = client.post("/v1/embeddings", json={"input": list(TEXTS[:2]), "model": "any"})
    body = answer.json()
    tokens = sum(len(hidden_states(folder, text)) for text in TEXTS[:2])
    assert (body["object"], body["model"]) == ("list", "any")
    assert [(each["object"], each["index"]) for each in body["data"]] == [
        ("embedding", 0), ("embedding", 1),
    ]  # fmt: skip
    assert body["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert answer.headers["x-compute-tokens"] == str(tokens)


def test_base64_holds_the_same_numbers_and_fewer_dimensions_are_normalized_again(
    folder: Path,
) -> None:
    with serving(folder) as client:
        whole = vectors(client, TEXTS[0])[0]
        short = vectors(client, TEXTS[0], dimensions=8)[0]
        packed = client.post(
            "/v1/embeddings", json={"input": TEXTS[0], "encoding_format": "base64"}
        ).json()["data"][0]["embedding"]
        refused = client.post("/v1/embeddings", json={"input": "a", "dimensions": HIDDEN + 1})
    unpacked = torch.frombuffer(bytearray(base64.b64decode(packed)), dtype=torch.float32)
    torch.testing.assert_close(unpacked, whole)
    torch.testing.assert_close(short, whole[:8] / whole[:8].norm())
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "dimensions"


def test_token_ids_are_read_as_they_are(folder: Path) -> None:
    ids = AutoTokenizer.from_pretrained(folder)(TEXTS[0])["input_ids"]
    with serving(folder) as client:
        of_text, of_ids = vectors(client, TEXTS[0])[0], vectors(client, ids)[0]
        of_lists = vectors(client, [ids, ids[:4]])
        unknown = client.post("/v1/embeddings", json={"input": [[1, 512]]})
    torch.testing.assert_close(of_ids, of_text, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(of_lists[0], of_text, atol=1e-5, rtol=1e-5)
    assert unknown.status_code == 400
    assert "from 0 to 511" in unknown.json()["error"]["message"]
