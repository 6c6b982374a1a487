"""A checkpoint's own Python runs in a step's process alone, and only at the granted commit."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.spec import parse_mapping
from tests.remote_code_checkpoint import make_remote_code_checkpoint, ran_in
from tests.workers.build_steps.quantizing import CALIBRATION, read_json, run_here
from tests.workers.build_steps.supervising import Supervisor, finished
from workers.build_steps import outputs
from workers.build_steps.calibration.tokenizer import open_tokenizer
from workers.build_steps.failures import StepFailure
from workers.engine.errors import CheckpointRefused
from workers.engine.tokenizer import load_tokenizer

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]

DEVICES = [{"kind": "H100", "count": 1, "memory_bytes": 80 * 2**30}]
CODE = {"configuration_own.py", "modeling_own.py"}


@dataclass(frozen=True)
class Own:
    """A checkpoint that brings its class, and where its code notes who ran it."""

    folder: Path
    marker: Path
    root: Path

    def spec(self, runtime: str = "vllm", quantization: str = "fp8") -> dict[str, Any]:
        parsed = parse_mapping(
            {
                "model_name": "own",
                "resources": {"accelerator": "H100"} if runtime == "vllm" else {},
                "enginehouse": {"runtime": runtime, "calibration": {"samples": 16}},
                "trt_llm": {
                    "build": {
                        "checkpoint_repository": {"source": "LOCAL", "repo": str(self.folder)},
                        "max_seq_len": 256,
                        "quantization_type": quantization,
                        "quantization_config": CALIBRATION,
                    }
                },
            }
        )
        assert parsed.spec is not None, parsed.errors
        return parsed.spec.model_dump(mode="json")

    def options(self, **remote_code: Any) -> dict[str, Any]:
        return {
            "local_checkpoint_roots": [str(self.folder.parent)],
            "memory_bytes": 8_000_000_000,
            "devices": DEVICES,
            "remote_code": {"live": [], "revoked": [], **remote_code},
        }

    def fetch(self, name: str, **remote_code: Any) -> Path:
        """Return a fetch step, which executes nothing, done in this process."""
        into = self.root / name
        run_here("fetch", self.spec(), into, self.options(**remote_code))
        return into


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Own:
    root = tmp_path_factory.mktemp("own-code")
    folder = make_remote_code_checkpoint(root / "roots" / "own", root / "marker")
    return Own(folder=folder, marker=root / "marker", root=root)


@pytest.fixture(scope="module")
def commit(own: Own) -> str:
    return str(outputs.read(own.fetch("commit")).values["commit"])


def grant(commit: str) -> dict[str, Any]:
    at = "2026-11-28T08:00:00+00:00"
    return {"id": "g1", "commit": commit, "by": "ada@example.com", "at": at, "reason": "read"}


def revoked(commit: str) -> dict[str, Any]:
    who = {"revoked_by": "bob@example.com", "revoked_at": "2026-11-27T08:00:00+00:00"}
    return {"commit": commit, "revoke_reason": "not read", **who}


@pytest.mark.parametrize("step", ["inspect", "calibrate"])
@pytest.mark.parametrize(
    ("live", "gone", "code", "says"),
    [
        (False, False, "EHQ-REMOTE-CODE", "nobody has granted it at commit"),
        (False, True, "EHQ-REMOTE-CODE", "revoked by bob@example.com on 2026-11-27: not read"),
        (True, False, "EHQ-REMOTE-CODE-MOVED", "is granted at `local-0000"),
    ],
)
def test_without_a_grant_for_this_very_commit_the_code_is_never_run(
    own: Own, commit: str, tmp_path: Path, step: str, live: bool, gone: bool, code: str, says: str
) -> None:
    values = {
        "live": [grant("local-" + "0" * 40)] if live else [],
        "revoked": [revoked(commit)] if gone else [],
    }
    # As it would lie there had somebody slipped the code in.
    fetched = own.fetch(f"{tmp_path.name}-fetch", live=[grant(commit)])
    with pytest.raises(StepFailure) as raised:
        run_here(step, own.spec(), tmp_path / step, own.options(**values), fetch=fetched)
    assert raised.value.failure.code == code
    assert says in raised.value.failure.sentence
    assert ran_in(own.marker) == []


def test_fetch_takes_the_code_only_where_it_is_granted(own: Own, commit: str) -> None:
    without = own.fetch("without", live=[grant("local-" + "0" * 40)])
    with_code = own.fetch("with", live=[grant(commit)])
    assert not {each.path for each in outputs.read(without).files} & {f"model/{c}" for c in CODE}
    assert outputs.read(without).values["remote_code_state"] == "left"
    values = outputs.read(with_code).values
    assert {each["path"] for each in values["remote_code"]} == CODE
    assert values["commit"] == commit, "whether it is taken or not"


def test_python_that_no_class_of_the_model_names_stays_out_of_the_artifact(tmp_path: Path) -> None:
    made = make_remote_code_checkpoint(tmp_path / "roots" / "own", tmp_path / "marker")
    mine = Own(folder=made, marker=tmp_path / "marker", root=tmp_path)
    config = read_json(made / "config.json")
    del config["auto_map"]
    (made / "config.json").write_text(json.dumps(config))
    commit = str(outputs.read(mine.fetch("commit")).values["commit"])
    fetched = mine.fetch("with", live=[grant(commit)])
    assert not {each.path for each in outputs.read(fetched).files} & {f"model/{c}" for c in CODE}
    assert "remote_code" not in outputs.read(fetched).values


@pytest.mark.parametrize(
    ("opened", "refusal"), [(open_tokenizer, StepFailure), (load_tokenizer, CheckpointRefused)]
)
def test_neither_preview_nor_engine_runs_a_tokenizers_code_though_a_terminal_says_yes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    opened: Callable[[Path], Any],
    refusal: type[Exception],
) -> None:
    made = make_remote_code_checkpoint(tmp_path / "own", tmp_path / "marker")
    config = read_json(made / "tokenizer_config.json")
    config["tokenizer_class"] = "OwnTokenizer"
    config["auto_map"] = {"AutoTokenizer": [None, "configuration_own.OwnConfig"]}
    (made / "tokenizer_config.json").write_text(json.dumps(config))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(refusal, match="tokenizer"):
        opened(made)
    assert ran_in(tmp_path / "marker") == []


def test_the_commit_of_a_folder_follows_the_content_of_its_code(own: Own, commit: str) -> None:
    path = own.folder / "modeling_own.py"
    before, state = path.read_text(), path.stat()
    path.write_text(before[:-1] + "\t")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    changed = outputs.read(own.fetch("changed")).values["commit"]
    path.write_text(before)
    assert changed != commit, "with the size and the time that it had before"
    assert outputs.read(own.fetch("restored")).values["commit"] == commit


def test_the_native_engine_runs_none_of_it_whatever_is_granted(
    own: Own, commit: str, tmp_path: Path
) -> None:
    fetched = own.fetch("native", live=[grant(commit)])
    options = own.options(live=[grant(commit)])
    with pytest.raises(StepFailure) as raised:
        run_here("inspect", own.spec("native"), tmp_path / "out", options, fetch=fetched)
    assert raised.value.failure.code == "EHQ-REMOTE-CODE-NATIVE"
    assert ran_in(own.marker) == []


def test_code_that_lies_in_another_repository_is_no_part_of_a_grant(
    own: Own, commit: str, tmp_path: Path
) -> None:
    fetched = own.fetch("elsewhere", live=[grant(commit)])
    config = read_json(fetched / "model" / "config.json")
    config["auto_map"] = {name: f"evil/repo--{each}" for name, each in config["auto_map"].items()}
    (fetched / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(StepFailure) as raised:
        run_here("inspect", own.spec(), tmp_path / "out", own.options(live=[grant(commit)]),
                 fetch=fetched)  # fmt: skip
    assert raised.value.failure.code == "EHQ-REMOTE-CODE-ELSEWHERE"
    assert "`evil/repo`" in raised.value.failure.sentence
    assert ran_in(own.marker) == []


def test_code_that_lies_elsewhere_is_looked_for_once_and_not_again_at_each_retry(
    tmp_path: Path,
) -> None:
    made = make_remote_code_checkpoint(tmp_path / "roots" / "own", tmp_path / "marker")
    mine = Own(folder=made, marker=tmp_path / "marker", root=tmp_path)
    config = read_json(made / "config.json")
    config["auto_map"] = {"AutoModelForCausalLM": "other/repo--modeling.Own"}
    (made / "config.json").write_text(json.dumps(config))
    for code in CODE:
        (made / code).unlink()
    without = outputs.read(mine.fetch("without")).values
    granted = outputs.read(mine.fetch("with", live=[grant(without["commit"])])).values
    assert (without["remote_code_state"], granted["remote_code_state"]) == ("left", "unneeded")


@pytest.fixture
def vllm_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is set up for vLLM, which no step up to the package starts."""
    monkeypatch.setenv("VLLM_PYTHON", "/opt/engine/bin/python")


@pytest.mark.process
def test_with_a_grant_the_code_runs_in_the_steps_process_alone(
    vllm_host: None, tmp_path: Path
) -> None:
    made = make_remote_code_checkpoint(tmp_path / "roots" / "own", tmp_path / "marker")
    mine = Own(folder=made, marker=tmp_path / "marker", root=tmp_path)
    commit = str(outputs.read(mine.fetch("commit")).values["commit"])
    supervisor = Supervisor(folder=tmp_path, roots=(str(made.parent),))
    supervisor.options = mine.options(live=[grant(commit)])
    fetch = mine.fetch("fetch", live=[grant(commit)])
    inspected = finished(supervisor, "inspect", mine.spec(), fetch=fetch)
    ran = set(ran_in(mine.marker))
    assert len(ran) == 1, "once, however often it was imported"
    assert os.getpid() not in ran
    remote_code = outputs.read(inspected).values["remote_code"]
    assert remote_code["runs"]
    assert remote_code["grant"]["by"] == "ada@example.com"
    assert {each["path"] for each in remote_code["files"]} == CODE
    findings = outputs.read(inspected).values["examination"]["findings"]
    assert "EH832" in {each["code"] for each in findings}


@pytest.mark.long
@pytest.mark.process
def test_calibration_and_gate_run_it_too_and_the_passport_says_so(
    vllm_host: None, tmp_path: Path
) -> None:
    made = make_remote_code_checkpoint(tmp_path / "roots" / "own", tmp_path / "marker")
    mine = Own(folder=made, marker=tmp_path / "marker", root=tmp_path)
    commit = str(outputs.read(mine.fetch("commit")).values["commit"])
    supervisor = Supervisor(folder=tmp_path, roots=(str(made.parent),))
    supervisor.options = mine.options(live=[grant(commit)])
    folders: dict[str, Path] = {}
    for step in ("fetch", "inspect", "calibrate", "gate", "package"):
        folders[step] = finished(supervisor, step, mine.spec(), **folders)
    ran = set(ran_in(mine.marker))
    assert len(ran) == 3, "once by each of the three processes, however often it was imported"
    assert os.getpid() not in ran
    exported = folders["calibrate"] / "model"
    assert {each.name for each in exported.iterdir()} >= CODE
    values = outputs.read(folders["package"]).values
    assert values["passport"]["remote_code"]["grant"] == grant(commit)
    assert {each["path"] for each in values["passport"]["remote_code"]["files"]} == CODE
    assert {each["path"] for each in values["manifest"]} >= CODE
