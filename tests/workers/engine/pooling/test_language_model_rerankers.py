"""Language models that rank by yes and no score as their model cards and the library do it."""

import json
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from starlette.testclient import TestClient
from tokenizers import Tokenizer
from tokenizers.processors import ByteLevel
from transformers import AutoModelForCausalLM, AutoTokenizer

from controlplane.domain.spec.choices import RerankTemplate
from tests.workers.engine.pooling.encoders import make_encoder, serving
from workers.engine.errors import CheckpointRefused
from workers.engine.pooling.templates import find_template
from workers.engine.settings import EngineSettings
from workers.engine.task import Task
from workers.runtimes.native.process import does_pool

pytestmark = pytest.mark.engine
QUERY = "What is the capital of France?"
TEXTS = (
    "Paris is the capital of France.", "Grüße aus Köln, 你好 🙂", "sea\n", "one two three " * 200,
)  # fmt: skip
POSITIONS = 512
BEFORE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
RETRIEVES = "Given a web search query, retrieve relevant passages that answer the query"
PREDICTS = (
    "Given a query A and a passage B, determine whether the passage contains an answer to the "
    "query by providing a prediction of either 'Yes' or 'No'."
)


def make_language_model(family: str, folder: Path) -> Path:
    make_encoder(family, folder, head="ForCausalLM", max_position_embeddings=POSITIONS)
    path = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.add_tokens(["yes", "no", "Yes"])
    tokenizer.post_processor = ByteLevel(trim_offsets=False)  # nothing frames a text
    tokenizer.save(str(path))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    named = json.dumps({**settings, "model_max_length": POSITIONS})
    (folder / "tokenizer_config.json").write_text(named)
    return folder


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_language_model("Qwen3", tmp_path_factory.mktemp("ranks") / "qwen3")


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_language_model("Gemma", tmp_path_factory.mktemp("ranks") / "gemma")


def last_logits(folder: Path, ids: Sequence[int]) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        return model(input_ids=torch.tensor([list(ids)])).logits[0, -1]


def as_qwen3s_card(folder: Path, query: str, text: str, instruction: str) -> float:
    """The chance of yes against no, of the prompt as the card puts it together."""
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def plain(each: str, **how: Any) -> list[int]:
        return tokenizer(each, add_special_tokens=False, **how)["input_ids"]

    before, after = plain(BEFORE), plain(AFTER)
    question = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {text}"
    room = POSITIONS - len(before) - len(after)
    middle = plain(question, truncation="longest_first", max_length=room)
    logits = last_logits(folder, before + middle + after)
    no, yes = (tokenizer.convert_tokens_to_ids(word) for word in ("no", "yes"))
    return float(logits[[no, yes]].softmax(-1)[1])


def as_bges_card(folder: Path, query: str, text: str, instruction: str) -> float:
    """The score of Yes as a chance, of the prompt as the card puts it together."""
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def plain(each: str) -> list[int]:
        return tokenizer(each, add_special_tokens=False)["input_ids"]

    line, request = plain("\n"), plain(instruction)
    beside = [tokenizer.bos_token_id, *plain(f"A: {query}"), *line]
    room = POSITIONS - len(beside) - len(line) - len(request)
    logits = last_logits(folder, beside + plain(f"B: {text}")[:room] + line + request)
    return float(logits[plain("Yes")[0]].sigmoid())


def ranked(client: TestClient, **more: Any) -> list[float]:
    answer = client.post("/rerank", json={"query": QUERY, "texts": TEXTS, **more})
    assert answer.status_code == 200, answer.text
    return [each["score"] for each in answer.json()]


@pytest.mark.parametrize(
    ("template", "card", "usual"),
    [("qwen3", as_qwen3s_card, RETRIEVES), ("bge", as_bges_card, PREDICTS)],
)
def test_pairs_are_scored_as_the_model_card_does_it(
    template: str, card: Callable[..., float], usual: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue({"qwen3": "qwen3", "bge": "gemma"}[template])
    with serving(folder, rerank_template=RerankTemplate(template)) as client:
        usually, request_sent = (
            ranked(client),
            ranked(client, instruction="Say whether both are old."),
        )
        by_documents = client.post(
            "/v1/rerank", json={"query": QUERY, "documents": TEXTS, "instruction": usual}
        ).json()["results"]
        reported = client.get("/info").json()
    assert usually == pytest.approx([card(folder, QUERY, t, usual) for t in TEXTS], abs=1e-5)
    expected = [card(folder, QUERY, text, "Say whether both are old.") for text in TEXTS]
    assert request_sent == pytest.approx(expected, abs=1e-5)
    of_documents = sorted(by_documents, key=lambda each: each["index"])
    assert [each["relevance_score"] for each in of_documents] == pytest.approx(usually, abs=1e-5)
    assert (reported["task"], reported["labels"]) == ("rerank", ["yes"])


def test_a_text_is_cut_at_the_end_that_is_asked_for_and_the_frame_never(qwen3: Path) -> None:
    text = "start " * 400 + "end"
    with serving(qwen3, rerank_template=RerankTemplate.QWEN3) as client:
        right, left = (
            client.post(
                "/rerank",
                json={"query": QUERY, "texts": [text], "truncation_direction": side},
            ).json()[0]["score"]
            for side in ("Right", "Left")
        )
        refused = client.post(
            "/rerank", json={"query": QUERY, "texts": ["a", text], "truncate": False}
        )
        no_room = client.post("/rerank", json={"query": "one two " * 400, "texts": ["a"]})
    assert right == pytest.approx(as_qwen3s_card(qwen3, QUERY, text, RETRIEVES), abs=1e-5)
    assert left != pytest.approx(right, abs=1e-5)
    assert (refused.status_code, refused.json()["param"]) == (413, "texts.1")
    assert (no_room.status_code, no_room.json()["param"]) == (413, "query")


def test_a_prompt_that_a_client_has_put_together_is_scored_as_it_is(qwen3: Path) -> None:
    question = f"<Instruct>: {RETRIEVES}\n<Query>: {QUERY}\n<Document>: {TEXTS[0]}"
    with serving(qwen3, rerank_template=RerankTemplate.QWEN3) as client:
        pair = client.post("/predict", json={"inputs": [[QUERY, TEXTS[0]]]}).json()
        text = client.post("/predict", json={"inputs": [[BEFORE + question + AFTER]]}).json()
        both = {"inputs": [[QUERY, TEXTS[0]], [BEFORE + question + AFTER], [QUERY, TEXTS[0]]]}
        beside = client.post("/predict", json=both).json()
    assert [each["label"] for each in pair[0]] == ["yes"]
    expected = as_qwen3s_card(qwen3, QUERY, TEXTS[0], RETRIEVES)
    scores = [each[0]["score"] for each in (*pair, *text, *beside)]
    assert scores == pytest.approx([expected] * 5, abs=1e-5)


def test_the_form_with_a_classification_head_scores_the_same(qwen3: Path, tmp_path: Path) -> None:
    """A converted checkpoint keeps the difference of two rows of the head."""
    folder = make_language_model("Qwen3", tmp_path / "converted")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    tensors = load_file(qwen3 / "model.safetensors")
    head = tensors.pop("lm_head.weight")
    tensors["score.weight"] = (head[yes] - head[no]).unsqueeze(0).clone()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    config |= {"architectures": ["Qwen3ForSequenceClassification"], **labels}
    (folder / "config.json").write_text(json.dumps(config))
    with serving(folder, rerank_template=RerankTemplate.QWEN3) as client:
        converted = ranked(client)
    with serving(qwen3, rerank_template=RerankTemplate.QWEN3) as client:
        assert converted == pytest.approx(ranked(client), abs=1e-5)


TEMPLATE = (
    "{%- for m in messages if m.role == 'system' %}<|im_start|>{{ m.content }}<|im_end|>\n"
    "{% endfor %}"
    "Query: {{ (messages | selectattr('role', 'eq', 'query') | first).content }}\n"
    "Text: {{ (messages | selectattr('role', 'eq', 'document') | first).content }}<|im_end|>\n"
    "{%- if add_generation_prompt %}<|im_start|>{% endif %}"
)


def add_library_files(folder: Path, template: str) -> Path:
    """What sentence-transformers writes for a language model that ranks."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    kinds = ("Transformer", "LogitScore")
    types = ("base.modules.transformer", "cross_encoder.modules.logit_score")
    modules = [
        {"idx": number, "name": str(number), "path": f"{number}_{kind}" if number else "",
         "type": f"sentence_transformers.{place}.{kind}"}
        for number, (kind, place) in enumerate(zip(kinds, types, strict=True))
    ]  # fmt: skip
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    message = {"method": "forward", "method_output_name": "logits", "format": "flat"}
    files = {
        "modules.json": modules,
        "1_LogitScore/config.json": {"true_token_id": yes, "false_token_id": no},
        "sentence_bert_config.json": {
            "transformer_task": "text-generation",
            "modality_config": {"text": message | {"format": None}, "message": message},
            "module_output_name": "causal_logits",
            "processing_kwargs": {"chat_template": {"add_generation_prompt": True}},
        },
        "config_sentence_transformers.json": {
            "model_type": "CrossEncoder", "prompts": {"web": "Find what answers."},
            "default_prompt_name": "web",
        },
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    (folder / "chat_template.jinja").write_text(template)
    return folder


def test_a_checkpoint_that_says_itself_how_it_ranks_scores_as_sentence_transformers(
    tmp_path: Path,
) -> None:
    folder = add_library_files(make_language_model("Qwen3", tmp_path / "model"), TEMPLATE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import CrossEncoder

        library = CrossEncoder(str(folder), device="cpu")
        theirs = library.predict([(QUERY, text) for text in TEXTS], batch_size=1)
    with serving(folder) as client:
        assert ranked(client) == pytest.approx([float(each) for each in theirs], abs=1e-5)


def test_a_template_that_shows_no_pair_and_a_word_that_is_no_token_are_refused(
    tmp_path: Path,
) -> None:
    folder = add_library_files(make_language_model("Qwen3", tmp_path / "a"), "{{ messages[0] }}")
    with pytest.raises(CheckpointRefused, match="roles `query` and `document`"), serving(folder):
        pass
    plain = make_encoder("Qwen3", tmp_path / "b", head="ForCausalLM")
    refused = pytest.raises(CheckpointRefused, match="no token `yes`")
    with refused, serving(plain, rerank_template=RerankTemplate.QWEN3):
        pass


@pytest.mark.parametrize(
    ("template", "answers", "told"),
    [
        ("{{ messages[9].content }}", {"true_token_id": 4}, "fails on a query and a document"),
        ("{% if %}", {"true_token_id": 4}, "fails on a query and a document: TemplateSyntaxError"),
        (TEMPLATE, {"true_token_id": "yes"}, "should be a JSON object with `true_token_id`"),
        (TEMPLATE, ["yes"], "should be a JSON object with `true_token_id`"),
        (TEMPLATE, None, r"1_LogitScore/config.json` cannot be read: No such file"),
    ],
)
def test_files_that_do_not_say_how_to_rank_are_refused_by_name(
    template: str, answers: object, told: str, qwen3: Path, tmp_path: Path
) -> None:
    folder = add_library_files(Path(shutil.copytree(qwen3, tmp_path / "model")), template)
    settings = folder / "1_LogitScore/config.json"
    settings.unlink() if answers is None else settings.write_text(json.dumps(answers))
    with pytest.raises(CheckpointRefused, match=told):
        find_template(folder, None, Task.RERANK)


@pytest.mark.parametrize("template", [None, *RerankTemplate])
def test_a_language_model_ranks_where_a_template_is_named(
    template: RerankTemplate | None, qwen3: Path
) -> None:
    named = EngineSettings(model_dir=qwen3, served_model_name="x", rerank_template=template)
    assert does_pool(named) == (template is not None)


def test_an_instruction_for_a_model_that_takes_none_is_refused(tmp_path: Path) -> None:
    folder = make_encoder("Bert", tmp_path, head="ForSequenceClassification", num_labels=1)
    with serving(folder) as client:
        answer = client.post(
            "/rerank", json={"query": "a", "texts": ["b"], "instruction": "Be kind."}
        )
    assert (answer.status_code, answer.json()["param"]) == (422, "instruction")
