"""The preview of samples in a real child: a team's set out of the store, no weight read."""

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactStore
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.calibration.conftest import lines, texts
from tests.workers.build_steps.supervising import Supervisor, run, spec_of
from workers.build_steps.child import OutcomeKind

pytestmark = [pytest.mark.engine, pytest.mark.process]
YES = {"role": "assistant", "content": "Yes"}
CHATS = [{"messages": [{"role": "user", "content": each["text"]}, YES]} for each in texts(6)]


def keep(supervisor: Supervisor, dataset: str, content: bytes) -> dict[str, Any]:
    """Put a set into the store as an upload does; what a job is told of it."""
    folder = supervisor.folder / "set"
    folder.mkdir()
    (folder / "rows.jsonl").write_bytes(content)
    store = ArtifactStore.open((supervisor.folder / "artifacts").as_uri())
    published = store.publish(folder, {})
    values = {
        "name": dataset.removeprefix("team/"),
        "version": 1,
        "column": "messages",
        "rows": 6,
        "content_digest": published.content_digest,
        "file_name": "rows.jsonl",
    }
    supervisor.options = {
        "calibration_sets": {dataset: values},
        "cache_dir": str(supervisor.folder / "cache"),
    }
    return {**values, "revision": f"sha256:{published.files[0].sha256}"}


def previewed(repo: Path, dataset: str, **more: Any) -> dict[str, Any]:
    config = {"calib_dataset": dataset, "calib_max_seq_length": 64, **more}
    return spec_of(str(repo), quantization_type="fp8", quantization_config=config)


def test_a_kept_set_of_chats_is_shown_through_the_template_and_counted(
    supervisor: Supervisor, tiny: Path
) -> None:
    report = keep(supervisor, "team/chats", lines({"messages": []}, *CHATS))
    outcome = run(supervisor, "preview", previewed(tiny, "team/chats", calib_size=128))
    assert outcome.kind is OutcomeKind.FINISHED, (outcome, supervisor.log.decode())
    result_read = outcome.values or {}
    assert result_read["dataset"]["revision"] == report["revision"]
    assert (result_read["column"], result_read["skipped_empty"], result_read["rows_read"]) == (
        "messages",
        1,
        6,
    )
    assert (result_read["size"], result_read["max_length"], result_read["seed"]) == (
        128,
        64,
        20_260_101,
    )
    assert len(result_read["samples"]) == 5
    first = result_read["samples"][0]
    assert first["text"].startswith("<|im_start|>user\nThe capital of France")
    assert first["row"] == 2
    cut = [each for each in result_read["samples"] if each["truncated"]]
    assert all(each["tokens"] == 64 for each in cut)
    assert not list(supervisor.folder.rglob("*.safetensors"))


def test_a_model_without_a_template_a_lost_and_a_damaged_set_are_failures_of_their_own(
    supervisor: Supervisor,
) -> None:
    plain = make_tiny_checkpoint(supervisor.folder / "plain")
    (plain / "chat_template.jinja").unlink()
    supervisor.roots = (str(supervisor.folder),)
    report = keep(supervisor, "team/chats", lines(*CHATS))
    spec = previewed(plain, "team/chats")
    outcome = run(supervisor, "preview", spec)
    assert outcome.failure is not None
    assert outcome.failure.code == "EHC-NO-TEMPLATE"
    blob = next((supervisor.folder / "artifacts" / "blobs").rglob(report["revision"][7:]))
    blob.chmod(0o644)
    blob.write_bytes(b"damaged")
    outcome = run(supervisor, "preview", spec)
    assert outcome.failure is not None
    assert outcome.failure.code.startswith("EHA-"), outcome.failure
    supervisor.options["calibration_sets"] = {}
    outcome = run(supervisor, "preview", spec)
    assert outcome.failure is not None
    assert outcome.failure.code == "EHC-NO-SET"
    assert outcome.failure.field == "trt_llm.build.quantization_config.calib_dataset"


def test_fetch_pins_a_kept_set_by_the_digest_of_its_file(
    supervisor: Supervisor, tiny: Path
) -> None:
    report = keep(supervisor, "team/chats", lines(*CHATS))
    outcome = run(supervisor, "fetch", previewed(tiny, "team/chats"))
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    assert (outcome.values or {})["calibration"] == {
        "dataset": "team/chats",
        "config": None,
        "split": "train",
        "revision": report["revision"],
    }
    assert json.loads((supervisor.folder / "fetch.json").read_bytes())["options"]


def test_a_file_that_no_loader_can_read_is_told_by_name(supervisor: Supervisor) -> None:
    folder = make_tiny_checkpoint(supervisor.folder / "broken")
    (folder / "tokenizer_config.json").write_text("[")
    supervisor.options = {"local_checkpoint_roots": [str(supervisor.folder)]}
    outcome = run(supervisor, "preview", previewed(folder, "team/chats"))
    assert outcome.failure is not None
    assert outcome.failure.code == "EHS-BAD-FILE"
    assert "`tokenizer_config.json`" in outcome.failure.sentence
