"""What a run on a GPU found is kept where the page of evidence and the memory plan read it."""

import json
from pathlib import Path
from typing import Any

from benchmarks.evidence import page
from benchmarks.evidence_table import what_of
from benchmarks.gpu.keep import file_name, keep
from benchmarks.gpu.native_on_cuda import told_by_pytest

KEPT = Path(__file__).resolve().parents[2] / "benchmarks/results"
RUN = "h200-2026-11-28"
ENGINE_LOG = [
    "smoke_test: (EngineCore pid=7) INFO 11-28 11:29:32 [model_runner.py:302] Model loading took "
    "0.15 GiB and 1.903074 seconds",
    "smoke_test: nothing of note in {home}",
]


def _found_on_a_device(out: Path) -> dict[str, Any]:
    """Write what the stages of the kept runs wrote; return the entries of the memory plan."""
    [memory] = (json.loads(path.read_text()) for path in KEPT.glob(f"memory-{RUN}.json"))
    entries = {each["source"]: each for each in memory}
    for path in KEPT.glob(f"*-{RUN}.json"):
        content = json.loads(path.read_text())
        if isinstance(content, dict):
            content.pop("engine_lines", None)
            log = [line.format(home=Path.home()) for line in ENGINE_LOG]
            more = {
                "log": log,
                "memory": {**entries.get(path.name, {}), **content.get("memory", {})},
            }
            (out / f"{what_of(path.name)}.json").write_text(json.dumps({**content, **more}))
    (out / "start.json").write_text(json.dumps({"what": "start", "data": str(out / "data")}))
    return entries


def test_all_stages_of_a_run_are_kept_and_make_the_page(tmp_path: Path) -> None:
    out, results = tmp_path / "out", tmp_path / "results"
    out.mkdir()
    entries = _found_on_a_device(out)
    files = keep(out, results)
    assert {path.name for path in files} == {
        path.name for path in KEPT.glob(f"*-{RUN}.json") if what_of(path.name) != "memory"
    }
    [memory] = results.glob("memory-*.json")
    again = {each["source"]: each for each in json.loads(memory.read_text())}
    assert again.keys() == entries.keys()
    assert all(again[source] | each == again[source] for source, each in entries.items())
    written = page(results)
    assert "- Model loading took 0.15 GiB and 1.903074 seconds" in written
    assert "285.4 / 286.0 tokens/s: +0.21 %" in written
    log = (results / "raw" / files[0].with_suffix(".log").name).read_text()
    assert "of note in <home>" in log


def test_kept_again_nothing_doubles(tmp_path: Path) -> None:
    out, results = tmp_path / "out", tmp_path / "results"
    out.mkdir()
    entries = _found_on_a_device(out)
    keep(out, results), keep(out, results)
    [memory] = results.glob("memory-*.json")
    assert len(json.loads(memory.read_text())) == len(entries)


def test_what_failed_is_told_and_takes_the_place_of_nothing(tmp_path: Path) -> None:
    out, results = tmp_path / "out", tmp_path / "results"
    out.mkdir()
    failed = {
        **{"what": "deploy", "date": "2026-11-28", "gpu": "NVIDIA H100 80GB HBM3, 81559 MiB"},
        **{"command": "run.sh", "state": "failed", "reason": "OutOfTime: its time was up"},
    }
    (out / "deploy.json").write_text(json.dumps(failed))
    (out / "ask.json").write_text(json.dumps({**failed, "what": "ask", "state": "not run"}))
    assert [path.name for path in keep(out, results)] == ["deploy-h100-2026-11-28.json"]
    assert "| the stage | failed: OutOfTime: its time was up |" in page(results)
    assert "- the artifact behind the gateway" in page(results).partition("## Not run yet")[2]

    good = json.dumps({**failed, "state": "done"})
    (results / "deploy-h100-2026-11-28.json").write_text(good)
    assert keep(out, results) == []
    assert (results / "deploy-h100-2026-11-28.json").read_text() == good


def test_a_file_is_named_by_the_kind_of_its_device() -> None:
    devices = {
        "NVIDIA H100 80GB HBM3, 81559 MiB": "h100",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition, 97887 MiB": "rtx_pro_6000",
        "NVIDIA GeForce RTX 4090, 24564 MiB": "geforce_rtx_4090",
        "none: a rehearsal on a CPU": "none",
    }
    file_names = [file_name("ask", {"gpu": each, "date": "2026-11-28"}) for each in devices]
    assert file_names == [f"ask-{kind}-2026-11-28.json" for kind in devices.values()]


def test_a_run_of_pytest_is_told_by_its_last_lines() -> None:
    output = "FAILED tests/a.py::test_b - assert 1 == 2\n1 failed, 21 passed in 42.19s\n"
    report = told_by_pytest(output)
    assert (report["passed"], report["failed"]) == (21, ["tests/a.py::test_b"])
