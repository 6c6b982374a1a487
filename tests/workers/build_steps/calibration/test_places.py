"""Where data sets come from: files, kept sets, and a hub with all its bad days."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from controlplane.domain.spec import parse_mapping
from tests.hub_server import HubServer, Trouble
from tests.loopback_server import nobody_listens
from tests.manual_clock import ManualClock
from tests.workers.build_steps.calibration.conftest import lines, texts
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.failures import StepFailure
from workers.build_steps.options import JobOptions

pytestmark = pytest.mark.engine


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), content, row_group_size=50)
    return content.getvalue()


def rows(name: str, places: Places) -> list[Any]:
    return list(OpenDataset(name, places).rows())


def failure_of(name: str, places: Places) -> Any:
    with pytest.raises(StepFailure) as raised:
        rows(name, places)
    return raised.value.failure


def test_files_of_both_kinds_and_folders_of_them_are_read(tmp_path: Path, places: Places) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(*texts(3)))
    (tmp_path / "b.parquet").write_bytes(as_parquet(texts(3)))
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "train-0.jsonl").write_bytes(lines(*texts(2)))
    (folder / "train-1.parquet").write_bytes(as_parquet(texts(2, first=2)))
    (folder / "test-0.jsonl").write_bytes(lines({"text": "not this"}))
    assert rows(str(tmp_path / "a.jsonl"), places) == texts(3)
    assert rows("b.parquet", places) == texts(3)
    assert rows(str(folder), places) == texts(4)


def test_only_columns_with_text_are_read_of_parquet(tmp_path: Path, places: Places) -> None:
    (tmp_path / "a.parquet").write_bytes(as_parquet([{**texts(1)[0], "image": b"x" * 1000}]))
    assert rows("a.parquet", places) == texts(1)
    (tmp_path / "b.parquet").write_bytes(as_parquet([{"image": b"x"}]))
    assert failure_of("b.parquet", places).code == "EHC-COLUMN"


def test_the_identity_of_a_file_is_its_content(tmp_path: Path, places: Places) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(*texts(3)))
    before = OpenDataset("a.jsonl", places).identity
    path.write_bytes(lines(*texts(4)))
    after = OpenDataset("a.jsonl", places)
    assert before.revision.startswith("sha256:")
    assert before.revision != after.identity.revision
    with pytest.raises(StepFailure) as raised:
        after.refuse_change(before)
    assert raised.value.failure.code == "EHC-CHANGED"


def test_an_uploaded_or_team_set_is_known_by_its_name(tmp_path: Path, places: Places) -> None:
    path = tmp_path / "upload-17"
    path = path.with_suffix(".jsonl")
    path.write_bytes(lines(*texts(2)))
    assert rows("team/support-chats", replace(places, kept={"team/support-chats": str(path)})) == (
        texts(2)
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("/etc/passwd", "EHC-OUTSIDE-ROOTS"),
        ("../outside.jsonl", "EHC-OUTSIDE-ROOTS"),
        ("link.jsonl", "EHC-OUTSIDE-ROOTS"),
        ("absent.jsonl", "EHC-OUTSIDE-ROOTS"),
        ("no such name!", "EHC-NAME"),
        ("broken.jsonl", "EHC-ROW"),
        ("list.jsonl", "EHC-ROW"),
        ("latin.jsonl", "EHC-FILE"),
        ("broken.parquet", "EHC-FILE"),
    ],
)
def test_what_cannot_be_read_is_told_apart(
    name: str, code: str, tmp_path: Path, places: Places
) -> None:
    (tmp_path / "link.jsonl").symlink_to("/etc/hostname")
    (tmp_path / "broken.jsonl").write_bytes(lines(*texts(1)) + b"{half a li")
    (tmp_path / "list.jsonl").write_bytes(b"[1, 2]\n")
    (tmp_path / "latin.jsonl").write_bytes('{"text": "Grüße"}\n'.encode("latin-1"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    failure = failure_of(name, places)
    assert failure.code == code
    assert name in failure.sentence


def test_a_missing_file_inside_a_root_is_missing(tmp_path: Path, places: Places) -> None:
    assert failure_of(str(tmp_path / "absent.jsonl"), places).code == "EHC-MISSING"


def test_the_default_set_means_its_config_and_column_on_the_hub(
    places: Places, hub: HubServer
) -> None:
    news = [{"article": each["text"], "highlights": "x"} for each in texts(4)]
    commit = hub.add(
        "datasets/abisee/cnn_dailymail",
        {
            "3.0.0/train-00000-of-00001.parquet": as_parquet(news),
            "3.0.0/test-00000-of-00001.parquet": as_parquet([{"article": "other"}]),
            "1.0.0/train-00000-of-00001.parquet": as_parquet([{"article": "older"}]),
        },
    )
    dataset = OpenDataset("abisee/cnn_dailymail", places)
    assert [each["article"] for each in dataset.rows()] == [each["text"] for each in texts(4)]
    assert dataset.column == "article"
    assert dataset.identity.model_dump() == {
        "dataset": "abisee/cnn_dailymail",
        "config": "3.0.0",
        "split": "train",
        "revision": commit,
    }


def test_only_the_rows_that_are_taken_are_fetched(places: Places, hub: HubServer) -> None:
    heavy = [{"text": f"{number} " + "x" * 2000} for number in range(2000)]
    content = b"".join(json.dumps(each).encode() + b"\n" for each in heavy)
    hub.add("datasets/org/heavy", {"train.jsonl": content})
    taken = OpenDataset("org/heavy", places).rows()
    assert next(taken)["text"].startswith("0 ")
    taken.close()  # type: ignore[attr-defined]
    [request] = hub.asked_for("train.jsonl")
    assert request.range == f"bytes=0-{1024 * 1024 - 1}"


DEVICE = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: rows/*.jsonl
  - split: test
    path: other/*.jsonl
- config_name: long
  data_files: long.jsonl
---
"""


def test_the_device_decides_which_files_are_a_config(places: Places, hub: HubServer) -> None:
    files = {
        "README.md": DEVICE.encode(),
        "rows/1.jsonl": lines(*texts(2)),
        "other/1.jsonl": lines({"text": "test"}),
        "long.jsonl": lines({"text": "long"}),
    }
    hub.add("datasets/org/set", files)
    hub.add("datasets/org/set", {**files, "long.jsonl": lines({"text": "v2"})}, branch="v2")
    assert rows("org/set", places) == texts(2)
    assert rows("org/set:long", places) == [{"text": "long"}]
    assert rows("org/set:long@v2", places) == [{"text": "v2"}]
    failure = failure_of("org/set:short", places)
    assert failure.code == "EHC-CONFIG"
    assert "`default`, `long`" in failure.sentence


def test_several_configs_ask_for_one_to_be_named(places: Places, hub: HubServer) -> None:
    hub.add("datasets/org/two", {"en/train.jsonl": lines(), "de/train.jsonl": lines(*texts(1))})
    failure = failure_of("org/two", places)
    assert failure.code == "EHC-CONFIG"
    assert "`org/two:de`" in (failure.hint or "")
    assert rows("org/two:de", places) == texts(1)


def test_a_set_without_training_rows_is_told(places: Places, hub: HubServer) -> None:
    hub.add("datasets/org/none", {"test.jsonl": lines(*texts(1)), "train.csv": b"a,b"})
    assert failure_of("org/none", places).code == "EHC-NO-TRAIN"


def test_a_hub_out_of_reach_names_the_offline_choices(places: Places) -> None:
    with nobody_listens() as place:
        away = replace(places.sources, hf_endpoint=f"http://{place}")
        failure = failure_of("abisee/cnn_dailymail", replace(places, sources=away))
    assert failure.code == "EHC-OFFLINE"
    assert failure.blame == "machine"
    assert "nothing else is used in its place" in failure.sentence
    for choice in ("LOCAL_CHECKPOINT_ROOTS", "uploaded", "team", "enginehouse/general"):
        assert choice in (failure.hint or "")


def test_gated_private_and_missing_sets_are_told_apart(places: Places, hub: HubServer) -> None:
    good = replace(places, token="hf_good")
    hub.add(
        "datasets/org/gated", {"train.jsonl": lines(*texts(1))}, gated=True, readers={"hf_good"}
    )
    hub.add(
        "datasets/org/own", {"train.jsonl": lines(*texts(2))}, private=True, readers={"hf_good"}
    )
    assert failure_of("org/gated", places).code == "EHC-GATED"
    assert failure_of("org/own", places).code == "EHC-NOT-FOUND"
    assert failure_of("org/absent", good).code == "EHC-NOT-FOUND"
    assert failure_of("org/gated", replace(places, token="hf_bad")).code == "EHC-GATED"
    no_token = failure_of("org/gated", replace(places, token="hf_gehe\u00efm"))
    assert no_token.code == "EHC-GATED"
    assert "holds no token" in no_token.sentence
    assert rows("org/gated", replace(places, token="hf_good\n")) == texts(1)
    assert failure_of("org/gated@v9", good).code == "EHC-REVISION"
    assert rows("org/gated", good) == texts(1)
    assert rows("org/own", good) == texts(2)


def test_trouble_that_passes_is_waited_out_and_other_trouble_is_told(
    places: Places, hub: HubServer, clock: ManualClock
) -> None:
    hub.add("datasets/org/set", {"train.jsonl": lines(*texts(3))})
    hub.trouble("train.jsonl", Trouble(status=503, times=1))
    assert rows("org/set", places) == texts(3)
    assert clock.slept == [1.0]
    hub.trouble("train.jsonl", Trouble(status=500))
    assert failure_of("org/set", places).code == "EHC-UNAVAILABLE"
    hub.trouble("train.jsonl", Trouble(break_after=10))
    assert failure_of("org/set", places).code in ("EHC-OFFLINE", "EHC-BROKEN")
    hub.troubles.clear()
    hub.trouble("train.jsonl", Trouble(no_ranges=True))
    assert rows("org/set", places) == texts(3)
    hub.trouble("info", Trouble(status=200, body=b"<html>Sign in</html>"))
    assert failure_of("org/set", places).code == "EHC-UNAVAILABLE"


@pytest.mark.parametrize(("source", "sent"), [("HF", "hf_model"), ("S3", None)])
def test_only_a_hubs_own_secret_is_sent_to_a_hub(source: str, sent: str | None) -> None:
    parsed = parse_mapping(
        {
            "model_name": "m",
            "trt_llm": {
                "build": {
                    "checkpoint_repository": {
                        "source": source,
                        "repo": "org/m" if source == "HF" else "s3://bucket/m",
                        "runtime_secret_name": "opens_it",
                    }
                }
            },
        }
    )
    assert parsed.spec is not None, parsed.errors
    assert Places.of_job(parsed.spec, JobOptions(), {"opens_it": "hf_model"}).token == sent
