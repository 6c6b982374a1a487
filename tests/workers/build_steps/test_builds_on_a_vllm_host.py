"""Configs of the hosted product on a host that starts vLLM, with its stand-in."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.rules import DeviceOffer, Known, examine
from controlplane.domain.rules.examples import EVERY_KIND
from controlplane.domain.runtimes.choice import dump_with_runtime
from controlplane.domain.spec import parse_mapping, parse_text
from tests.seeds.test_seed_configs import DATA, WHOLE
from tests.workers.build_steps.supervising import Packaged, Supervisor, finished, run
from workers.build_steps import outputs

pytestmark = pytest.mark.process
STAND_IN = Path(__file__).resolve().parents[3] / "benchmarks/gpu/rehearsal/stand_in_vllm.py"
STARTED = frozenset({"native", "vllm"})
SEEDS = [
    name for name in WHOLE if (spec := parse_text((DATA / f"{name}.yaml").read_text()).spec)
    and spec.accelerator
]  # fmt: skip


@pytest.fixture(autouse=True)
def _host_with_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_PYTHON", str(STAND_IN))


def named(text: str | dict[str, Any], checkpoint: CheckpointFacts) -> dict[str, Any]:
    """Return the spec of a build: the config's own, with what `auto` means on such a host."""
    parsed = parse_text(text) if isinstance(text, str) else parse_mapping(text)
    assert parsed.spec is not None, parsed.errors
    known = Known(
        checkpoint=checkpoint, secret_names=parsed.spec.secret_names, devices=EVERY_KIND,
        runtimes=STARTED,
    )  # fmt: skip
    dump = parsed.spec.model_dump(mode="json")
    return dict(dump_with_runtime(dump, examine(parsed.spec, known).runtime))


def long_checkpoint(tiny: Path, folder: Path) -> Path:
    """Return a published fetch of the tiny checkpoint that says it takes long prompts."""
    shutil.copytree(tiny, folder / "model")
    config = json.loads((folder / "model" / "config.json").read_text())
    config["max_position_embeddings"] = 131_072
    (folder / "model" / "config.json").write_text(json.dumps(config))
    outputs.seal(folder, step="fetch", values={"commit": "c1"}, digests={})
    return folder


def offer(kind: str) -> dict[str, Any]:
    device = DeviceOffer(kind=kind, count=8, memory_bytes=PLANNABLE_GPUS[kind].memory_bytes or 0)
    return {"kind": device.kind, "count": device.count, "memory_bytes": device.memory_bytes}


@pytest.mark.parametrize(
    "name", [SEEDS[0], *(pytest.param(each, marks=pytest.mark.long) for each in SEEDS[1:])]
)
def test_a_seed_config_passes_the_builds_own_checks_and_answers_unedited(
    name: str, supervisor: Supervisor, packaged: Packaged, tiny: Path, tmp_path: Path
) -> None:
    checkpoint, _ = WHOLE[name]
    spec = named((DATA / f"{name}.yaml").read_text(), checkpoint)
    assert spec["enginehouse"]["runtime"] == "vllm"
    kind = spec["resources"]["accelerator"].partition(":")[0]
    supervisor.options["devices"] = [offer(kind)]
    fetched = long_checkpoint(tiny, tmp_path / "fetched")
    inspected = finished(supervisor, "inspect", spec, fetch=fetched)
    supervisor.options["artifact_url"] = packaged.artifact_url
    folders = {**packaged.folders, "inspect": inspected}
    values = outputs.read(finished(supervisor, "smoke_test", spec, **folders)).values
    assert (values["kind"], values["engine"]["engine"]) == ("generation", "vllm")
    assert values["answer"]


def test_the_builds_own_checks_refuse_what_this_host_does_not_start(
    supervisor: Supervisor, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_PYTHON")
    checkpoint, _ = WHOLE["engine-builder-llm-overview-4"]
    spec = named((DATA / "engine-builder-llm-overview-4.yaml").read_text(), checkpoint)
    supervisor.options["devices"] = [offer("L4")]
    fetched = long_checkpoint(tiny, tmp_path / "fetched")
    outcome = run(supervisor, "inspect", spec, fetch=fetched)
    assert outcome.failure is not None
    assert "EH690" in supervisor.log.decode()
