import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.domain.failures import Blame
from controlplane.domain.rules import Severity, examine
from controlplane.domain.rules.examples import Example
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import (
    SourceFailure,
    SourceOptions,
    fetch,
    folder_facts,
    read_facts,
    resolve,
)
from controlplane.sources.safetensors_header import BadHeader, read_totals
from tests.hub_server import HubServer

Repository = Callable[..., CheckpointRepository]


def header(tensors: dict[str, object], data_bytes: int = 0) -> bytes:
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data_bytes)


def totals(content: bytes) -> tuple[int, int]:
    outcome = read_totals(lambda start, end: content[start:end], len(content))
    return outcome.weight_bytes, outcome.parameters


def test_facts_from_a_hub_equal_those_of_the_fetched_folder(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    commit = hub.add("org/tiny", tiny)
    facts = read_facts(repository(), token=None, options=options)
    resolved = resolve(repository(), token=None, options=options)
    fetch(
        resolved,
        tmp_path / "model",
        token=None,
        options=options,
        on_progress=lambda done, total: None,
    )
    assert facts == folder_facts(tmp_path / "model", commit=commit)
    assert (facts.layers, facts.hidden_size, facts.has_chat_template) == (2, 64, True)
    assert facts.weight_bytes == 4 * (facts.parameters or 0)
    assert facts.commit == commit


def test_no_weights_are_downloaded_for_facts(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    read_facts(repository(), token=None, options=options)
    ranges = [each.range for each in hub.asked_for("model.safetensors") if "/cdn/" in each.path]
    assert ranges == ["bytes=0-65535"]


def test_facts_of_a_local_folder(
    tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    opened = SourceOptions(local_checkpoint_roots=(str(tiny.parent),))
    facts = read_facts(repository(str(tiny), source="LOCAL"), token=None, options=opened)
    assert facts.commit is not None
    assert facts.commit.startswith("local-")
    assert facts.weight_bytes == 4 * (facts.parameters or 0)


def test_the_length_of_an_embedder_is_read_from_the_first_file_that_says_it(
    tiny: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny, tmp_path / "embedder"))
    for model, tokens in (("roberta", 128), ("xlnet", 32)):
        text = json.dumps({"max_seq_length": tokens, "do_lower_case": False})
        (folder / f"sentence_{model}_config.json").write_text(text)
    assert folder_facts(folder, commit=None).max_input_tokens == 128


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("config.json", b"{", "not JSON"),
        ("config.json", b"[]", "not a JSON object"),
        ("tokenizer_config.json", b"\xff\xfe", "not JSON"),
        ("model.safetensors", b"short", "shorter than"),
        ("model.safetensors", b"x" * 5000, "does not start with"),
        ("model.safetensors.index.json", b"{}", "weight_map"),
    ],
)
def test_a_damaged_file_is_named(
    tiny: Path, tmp_path: Path, path: str, content: bytes, reason: str
) -> None:
    for each in tiny.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / path).write_bytes(content)
    with pytest.raises(SourceFailure, match=reason) as caught:
        folder_facts(tmp_path, commit=None, name="org/tiny")
    assert caught.value.failure.code == "EHS-BAD-FILE"
    assert f"`{path}` of `org/tiny`" in caught.value.failure.sentence


def test_an_index_that_names_a_file_that_is_not_there_is_refused(
    tiny: Path, tmp_path: Path
) -> None:
    for each in tiny.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"lm_head.weight": "part-2.safetensors"}}'
    )
    with pytest.raises(SourceFailure, match=r"`part-2\.safetensors`, which is not there"):
        folder_facts(tmp_path, commit=None)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_lists_nested_too_deeply_are_the_fault_of_the_file(
    tiny: Path, tmp_path: Path, name: str
) -> None:
    for each in tiny.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / name).write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(SourceFailure, match="nests lists or objects too deeply") as caught:
        folder_facts(tmp_path, commit=None)
    assert caught.value.failure.blame is Blame.CHECKPOINT


def test_an_index_that_names_a_tensor_nobody_holds_is_refused(tiny: Path, tmp_path: Path) -> None:
    for each in tiny.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"lost.weight": "model.safetensors"}}'
    )
    with pytest.raises(SourceFailure, match=r"`lost\.weight`"):
        folder_facts(tmp_path, commit=None)


def test_a_header_longer_than_the_first_read_is_read_on() -> None:
    tensors: dict[str, object] = {
        f"layer.{number}.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
        for number in range(2000)
    }
    assert totals(header(tensors, 4)) == (8000, 2000)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":' * 400_000 + b"1" + b"}" * 400_000,
        b"{" + b",".join(b'"%d":{}' % number for number in range(400_000)) + b"}",
        b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
        b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0.0, 4.0]}}',
    ],
    ids=["nested", "many", "negative", "fractions"],
)
def test_a_header_of_anything_but_tensors_is_damaged(text: bytes) -> None:
    content = len(text).to_bytes(8, "little") + text + b"\0" * 4
    with pytest.raises(BadHeader, match="damaged"):
        read_totals(lambda start, end: content[start:end], len(content))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<Q", 2**63) + b"{}",
        header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, 4),
        header({"a": {"dtype": "F32"}}),
        header({"a": 1}),
        struct.pack("<Q", 3) + b"not",
    ],
)
def test_a_header_that_does_not_fit_the_file_is_refused(content: bytes) -> None:
    with pytest.raises(BadHeader):
        totals(content)


def test_an_empty_header_adds_up_to_nothing() -> None:
    assert totals(header({"__metadata__": {"format": "pt"}})) == (0, 0)


@pytest.mark.parametrize(
    ("file", "content", "form"),
    [
        ("chat_template.jinja", "{%- if tools %}<tool_call>", "hermes"),
        ("chat_template.json", '{"chat_template": "{%- if tools %}[TOOL_CALLS]"}', "mistral"),
        ("additional_chat_templates/tool_use.jinja", "{%- if tools %}<tool_call>", "hermes"),
    ],
)
def test_the_form_of_calls_is_read_from_a_template_in_a_file_of_its_own(
    tiny: Path, tmp_path: Path, file: str, content: str, form: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny, folder)
    (folder / "chat_template.jinja").write_text("<|im_start|>")
    if file == "chat_template.json":
        (folder / "chat_template.jinja").unlink()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(content)
    facts = folder_facts(folder, commit="c")
    assert (facts.has_chat_template, facts.renders_tools, facts.call_form) == (True, True, form)


def test_a_repository_of_an_adapter_alone_is_called_one_with_its_base_model(tmp_path: Path) -> None:
    adapter = {
        "peft_type": "LORA", "r": 16, "target_modules": ["q_proj"],
        "base_model_name_or_path": "owner/base",
    }  # fmt: skip
    (tmp_path / "adapter_config.json").write_text(json.dumps(adapter))
    (tmp_path / "adapter_model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    facts = folder_facts(tmp_path, commit="c")
    assert facts.adapter is not None
    example = Example(config={"resources.accelerator": "H100"}, checkpoint=facts)
    findings = {each.code: each for each in examine(example.content, example.known).report.findings}
    errors = {code for code, each in findings.items() if each.severity is Severity.ERROR}
    assert errors == {"EH714"}
    assert "`owner/base`" in findings["EH714"].message


def test_a_repository_without_any_config_is_still_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(SourceFailure, match=r"config\.json"):
        folder_facts(tmp_path, commit="c")
