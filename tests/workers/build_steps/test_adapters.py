"""LoRA adapters of a config come into the artifact, and answer in the smoke test's engine."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.tiny_adapter import make_tiny_adapter
from tests.workers.build_steps.supervising import Supervisor, finished, run, spec_of
from workers.build_steps import outputs
from workers.build_steps.adapter_check import check_adapter
from workers.build_steps.adapters import FIELD, carry_adapters
from workers.build_steps.child import OutcomeKind

pytestmark = [pytest.mark.engine, pytest.mark.process]


@pytest.fixture(scope="module")
def adapter(tiny: Path) -> Path:
    return make_tiny_adapter(tiny.parent / "legal", seed=6)


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
    assert packaged["passport"]["adapters"] == fetched["adapters"]
    tested = outputs.read(finished(supervisor, "smoke_test", spec, **folders)).values
    assert tested["engine"]["adapters"]["names"] == ["legal"]
    (request,) = tested["adapters"]
    assert request["name"] == "legal"
    assert request["answer"] != tested["answer"], "the adapter itself was asked"
    assert request["first_token_seconds"] > 0


def _no_weights(folder: Path) -> None:
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")


def _set(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | changes))


def _retensor(folder: Path, part: str, *shape: int, **others: Any) -> None:
    tensors = load_file(folder / "adapter_model.safetensors")
    key = f"base_model.model.model.layers.0.self_attn.q_proj.{part}.weight"
    changed = {key: np.ones(shape, np.float32)} if shape else {}
    save_file(
        {name: each for name, each in tensors.items() if name != key} | changed | others,
        folder / "adapter_model.safetensors",
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: (folder / "adapter_config.json").unlink(), "EHL-NOT-A-CHECKPOINT"),
        (_no_weights, "EHL-PICKLED-WEIGHTS"),
        (lambda folder: _set(folder, r=128), "EHB-ADAPTER"),
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
    assert outcome.failure.field == {
        "EHB-ADAPTER": f"{FIELD}.legal",
    }.get(code, f"{FIELD}.legal.repo")


BROKEN: dict[str, Callable[[Path], object]] = {
    "`peft_type` is `IA3`": lambda f: _set(f, peft_type="IA3"),
    "has rank 65": lambda f: _set(f, rank_pattern={"q_proj": 65}),
    "ranks (`r`, `rank_pattern`) cannot be read": lambda f: _set(f, r="many"),
    "is not JSON": lambda f: (f / "adapter_config.json").write_text("{"),
    "is a JSON list": lambda f: (f / "adapter_config.json").write_text("[]"),
    "only one of lora_A and lora_B": lambda f: _retensor(f, "lora_A"),
    "do not fit together": lambda f: _retensor(f, "lora_A", 5, 64),
    "trained on another model": lambda f: _retensor(f, "lora_A", 4, 65),
    "above `lora_configuration.max_lora_rank` 64": lambda f: [
        _retensor(f, "lora_A", 80, 64), _retensor(f, "lora_B", 64, 80),
    ],
    "cannot be read": lambda f: (f / "adapter_model.safetensors").write_bytes(b"no tensors"),
    "holds no matrices of LoRA": lambda f: save_file(
        {"other": np.ones(2)}, f / "adapter_model.safetensors"
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", BROKEN)
def test_what_the_engine_would_refuse_is_found_before_the_long_steps(
    tmp_path: Path, tiny: Path, adapter: Path, reason: str
) -> None:
    folder = Path(shutil.copytree(adapter, tmp_path / "legal"))
    check_adapter(folder, tiny, max_rank=64)
    BROKEN[reason](folder)
    with pytest.raises(ValueError, match=re.escape(reason)):
        check_adapter(folder, tiny, max_rank=64)


@pytest.mark.parametrize("number", ["2", "9" * 5000])
def test_matrices_of_a_layer_that_the_model_does_not_have_are_found(
    tmp_path: Path, tiny: Path, adapter: Path, number: str
) -> None:
    folder = Path(shutil.copytree(adapter, tmp_path / "legal"))
    beyond = f"base_model.model.model.layers.{number}.self_attn.q_proj"
    pair = {"lora_A": np.ones((4, 64), np.float32), "lora_B": np.ones((64, 4), np.float32)}
    _retensor(folder, "lora_C", **{f"{beyond}.{name}.weight": each for name, each in pair.items()})
    with pytest.raises(ValueError, match=re.escape("its last one is `model.layers.1`")):
        check_adapter(folder, tiny, max_rank=64)


def test_tensors_that_the_model_stores_otherwise_are_left_to_the_engine(
    tmp_path: Path, tiny: Path, adapter: Path
) -> None:
    folder = Path(shutil.copytree(adapter, tmp_path / "legal"))
    pair = {"lora_A": np.ones((4, 7), np.float32), "lora_B": np.ones((9, 4), np.float32)}
    other = "base_model.model.model.vision.0.q_proj"
    _retensor(folder, "lora_C", **{f"{other}.{name}.weight": each for name, each in pair.items()})
    check_adapter(folder, tiny, max_rank=64)


def test_a_name_of_dots_leads_nowhere(supervisor: Supervisor, tiny: Path, adapter: Path) -> None:
    outcome = run(supervisor, "fetch", _spec(tiny, adapter, name=".."))
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-ADAPTER"


def test_what_a_later_step_made_has_the_adapters_too(tmp_path: Path, adapter: Path) -> None:
    shutil.copytree(adapter, tmp_path / "fetched/adapters/legal")
    (tmp_path / "made").mkdir()
    carry_adapters(tmp_path / "fetched", tmp_path / "made")
    assert (tmp_path / "made/adapters/legal/adapter_model.safetensors").is_file()
