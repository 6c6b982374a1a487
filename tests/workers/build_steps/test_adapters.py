"""LoRA adapters of a config come into the artifact, and answer in the smoke test's engine."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from tests.workers.build_steps.supervising import Supervisor, finished, run, spec_of
from tests.workers.engine.adapter_folders import make_adapter
from workers.build_steps import outputs
from workers.build_steps.adapters import carry_adapters
from workers.build_steps.child import OutcomeKind

pytestmark = [
    pytest.mark.engine,
    # PEFT asks Transformers by a name that is on its way out.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]


@pytest.fixture(scope="module")
def adapter(tiny: Path) -> Path:
    return make_adapter(tiny, tiny.parent / "legal", seed=6)


def _spec(tiny: Path, adapter: Path, name: str = "legal", **build: Any) -> dict[str, Any]:
    place = {"source": "LOCAL", "repo": str(adapter)}
    return spec_of(str(tiny), lora_adapters={name: place}, **build)


def test_an_adapter_is_pinned_packaged_and_answered_with(
    supervisor: Supervisor, tiny: Path, adapter: Path
) -> None:
    spec = _spec(tiny, adapter)
    folders: dict[str, Path] = {}
    for step in ("fetch", "inspect", "package"):
        folders[step] = finished(supervisor, step, spec, **folders)
    fetched = outputs.read(folders["fetch"]).values
    assert [(each["name"], each["source"]) for each in fetched["adapters"]] == [("legal", "LOCAL")]
    packaged = outputs.read(folders["package"]).values
    assert packaged["inputs"]["adapters"] == fetched["adapters"]
    paths = {each["path"] for each in packaged["manifest"]}
    assert {f"adapters/legal/adapter_{name}" for name in ("config.json", "model.safetensors")} <= (
        paths
    )
    facts = outputs.read(folders["inspect"]).values["checkpoint"]
    own = sum(each.size for each in load_file(tiny / "model.safetensors").values())
    assert facts["parameters"] == own, "the adapter's numbers are not the model's"
    tested = finished(supervisor, "smoke_test", spec, **folders)
    assert outputs.read(tested).values["engine"]["adapters"]["names"] == ["legal"]


def _no_weights(folder: Path) -> None:
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")


def _high_rank(folder: Path) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | {"r": 128}))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: (folder / "adapter_config.json").unlink(), "EHL-NOT-A-CHECKPOINT"),
        (_no_weights, "EHL-PICKLED-WEIGHTS"),
        (_high_rank, "EHB-ADAPTER"),
    ],
)
def test_an_adapter_that_cannot_be_served_ends_the_fetch(
    supervisor: Supervisor, tiny: Path, adapter: Path, change: Any, code: str
) -> None:
    folder = tiny.parent / f"broken-{code.lower()}"
    shutil.copytree(adapter, folder)
    change(folder)
    outcome = run(supervisor, "fetch", _spec(tiny, folder))
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.failure is not None
    assert outcome.failure.code == code


def test_a_name_of_dots_leads_nowhere(supervisor: Supervisor, tiny: Path, adapter: Path) -> None:
    outcome = run(supervisor, "fetch", _spec(tiny, adapter, name=".."))
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-ADAPTER"


def test_what_a_later_step_made_has_the_adapters_too(tmp_path: Path, adapter: Path) -> None:
    shutil.copytree(adapter, tmp_path / "fetched/adapters/legal")
    (tmp_path / "made").mkdir()
    carry_adapters(tmp_path / "fetched", tmp_path / "made")
    assert (tmp_path / "made/adapters/legal/adapter_model.safetensors").is_file()
