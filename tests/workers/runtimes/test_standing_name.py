"""One artifact, one name: what an engine compiled for a copy is found again for the next."""

from pathlib import Path

from workers.runtimes.standing_name import standing_name

DIGEST = f"sha256:{'ab' * 32}"


def test_copies_of_one_artifact_have_one_name_for_vllm_and_each_is_found(tmp_path: Path) -> None:
    names = set()
    for place in ("build", "replica"):
        folder, model = tmp_path / place, tmp_path / f"{place}-model"
        folder.mkdir()
        model.mkdir()
        names.add(name := standing_name("vllm", folder, model, DIGEST))
        assert (folder / name).resolve() == model
        assert standing_name("vllm", folder, model, DIGEST) == name, "named once more"
    assert len(names) == 1


def test_another_artifact_has_another_name(tmp_path: Path) -> None:
    other = f"sha256:{'cd' * 32}"
    assert standing_name("vllm", tmp_path, tmp_path, DIGEST) != standing_name(
        "vllm", tmp_path, tmp_path, other
    )


def test_engines_that_do_not_key_by_path_get_the_path(tmp_path: Path) -> None:
    assert standing_name("native", tmp_path, tmp_path / "model", DIGEST) == f"{tmp_path}/model"
    assert list(tmp_path.iterdir()) == []
