from pathlib import Path

import pytest

from workers.build_steps.outputs import UnsealedOutput, publish, read, seal, verify


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp" / "fetch"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "config.json").write_text("{}")
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    seal(folder, step="fetch", values={"commit": "c1"}, digests={})
    return folder


def test_a_published_output_verifies_and_gives_its_values_back(
    sealed: Path, tmp_path: Path
) -> None:
    output = publish(sealed, tmp_path / "steps" / "fetch")
    assert not sealed.exists()
    assert verify(tmp_path / "steps" / "fetch")
    assert read(tmp_path / "steps" / "fetch") == output
    assert output.values == {"commit": "c1"}
    assert [each.path for each in output.files] == ["model/config.json", "model/model.safetensors"]


@pytest.mark.parametrize("damage", ["changed", "missing", "new", "link", "manifest", "empty"])
def test_a_damaged_output_does_not_verify(sealed: Path, damage: str) -> None:
    config = sealed / "model" / "config.json"
    match damage:
        case "changed":
            config.write_text("[]")
        case "missing":
            config.unlink()
        case "new":
            (sealed / "model" / "extra.json").write_text("{}")
        case "link":
            (sealed / "model" / "extra.json").symlink_to("/etc/passwd")
        case "manifest":
            (sealed / "manifest.json").write_text("{")
        case "empty":
            (sealed / "manifest.json").unlink()
    assert not verify(sealed)


def test_what_never_existed_does_not_verify(tmp_path: Path) -> None:
    assert not verify(tmp_path / "nothing")


def test_an_unsealed_output_is_never_published(tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    with pytest.raises(UnsealedOutput):
        publish(tmp_path / "half", tmp_path / "steps" / "fetch")
    assert not (tmp_path / "steps").exists()


def test_publishing_replaces_a_damaged_output(sealed: Path, tmp_path: Path) -> None:
    final = tmp_path / "steps" / "fetch"
    final.mkdir(parents=True)
    (final / "half").write_text("x")
    publish(sealed, final)
    assert verify(final)
    assert [each.name for each in final.parent.iterdir()] == ["fetch"]


def test_verifying_beats_for_the_lease(sealed: Path) -> None:
    beats: list[None] = []
    assert verify(sealed, lambda: beats.append(None))
    assert len(beats) == 2
