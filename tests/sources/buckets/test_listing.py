"""A checkpoint found, pinned and described by a bucket's listing."""

from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.sources import folder_facts, read_facts
from tests.sources.buckets.asking import WEIGHTS, Asking


def test_a_folder_is_pinned_by_its_listing_and_fetched(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    assert resolved.commit.startswith("listing-")
    seen = asking.fetch(tmp_path / "model", resolved)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == resolved.size_bytes
    assert asking.resolve(commit=resolved.commit) == resolved


def test_a_listing_of_many_pages_is_read_once_and_neighbours_are_left_alone(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    asking.server.page_size = 3
    asking.server.put("weights", "llama/v10/config.json", b"{}")
    asking.server.put("weights", "llama/v1/", b"")
    asking.server.put("weights", "llama/v1/README.md", b"# GPU")
    asking.server.put("weights", "llama/v1/pytorch_model.bin", b"pickle")
    asking.server.put("weights", "llama/v1/1_Pooling/config.json", b"{}")
    asking.fetch(tmp_path / "model")
    lists = [each for each in asking.server.requests if each.path.endswith("/weights")]
    assert len(lists) == 4
    paths = {each.path for each in describe(tmp_path / "model")}
    assert paths == {each.path for each in describe(tiny)} | {"1_Pooling/config.json"}


def test_the_whole_bucket_may_be_the_checkpoint(asking: Asking, tiny: Path, tmp_path: Path) -> None:
    for name, content in asking.files.items():
        asking.server.put("onlymodel", name, content)
    asking.checkpoint = asking.named("onlymodel")
    asking.fetch(tmp_path / "model")
    assert describe(tmp_path / "model") == describe(tiny)


def test_facts_come_through_ranges_and_equal_those_of_the_fetched_folder(
    asking: Asking, tmp_path: Path
) -> None:
    facts = read_facts(asking.checkpoint, token=asking.secret, options=asking.options)
    ranges = [each.range for each in asking.server.asked_for(WEIGHTS)]
    assert ranges == ["bytes=0-65535"]
    resolved = asking.resolve()
    asking.fetch(tmp_path / "model", resolved)
    assert facts == folder_facts(tmp_path / "model", commit=resolved.commit)
    assert facts.weight_bytes == 4 * (facts.parameters or 0)


def test_a_missing_bucket_and_an_empty_path_are_told_apart(asking: Asking) -> None:
    asking.checkpoint = asking.named("nowhere/llama")
    asking.refusal("NO-BUCKET")
    asking.checkpoint = asking.named("weights/Llama/v1")
    assert "capitals" in (asking.refusal("NOT-FOUND").failure.hint or "")


def test_a_folder_above_the_checkpoint_is_no_checkpoint(asking: Asking) -> None:
    asking.checkpoint = asking.named("weights/llama")
    asking.refusal("NOT-A-CHECKPOINT")


@pytest.mark.parametrize(
    "path", ["UPPER_case/x", "weights/../x", "we", "weights//x", "weights/a?b", "weights/%2e\n"]
)
def test_a_place_that_cannot_be_is_refused_before_anything_is_asked(
    asking: Asking, path: str
) -> None:
    asking.checkpoint = asking.named(path)
    asking.refusal("URI")
    assert asking.server.requests == []


def test_files_that_changed_since_they_were_pinned_are_not_fetched(
    asking: Asking, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    asking.server.put("weights", WEIGHTS, asking.files["model.safetensors"][::-1])
    asking.refusal("CHANGED", lambda: asking.resolve(commit=resolved.commit))
    refusal = asking.refusal("CHANGED", lambda: asking.fetch(tmp_path / "model", resolved))
    assert "another one now" in refusal.failure.sentence
    assert not (tmp_path / "model/model.safetensors").exists()
