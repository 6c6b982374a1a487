"""What the gate looked at is what is packaged: a file that changed in between is named."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactStore
from controlplane.domain.failures import Failure
from tests.workers.build_steps.gated import Quantized
from tests.workers.build_steps.quantizing import inspected, reseal, run_here
from workers.build_steps.failures import StepFailure
from workers.build_steps.model_files import was_measured

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
WEIGHTS = "model/model.safetensors"


class Chain:
    """The steps of one quantized build from its gate to its artifact."""

    def __init__(self, quantized: Quantized, root: Path) -> None:
        self.quantized, self.root = quantized, root
        self.inputs = {
            "fetch": quantized.fetch,
            "inspect": inspected(root / "inspect"),
            "calibrate": quantized.calibrate,
        }
        self.store = ArtifactStore.open((root / "artifacts").as_uri())

    def gate(self) -> dict[str, Any]:
        folder = self.root / "gate"
        values = run_here("gate", self.quantized.spec, folder, **self.inputs).values
        self.inputs["gate"] = folder
        return dict(values)

    def package(self) -> dict[str, Any]:
        options = {"artifact_url": (self.root / "artifacts").as_uri()}
        spec, folder = self.quantized.spec, self.root / "package"
        return dict(run_here("package", spec, folder, options, **self.inputs).values)

    def refused(self, step: str) -> Failure:
        with pytest.raises(StepFailure) as raised:
            getattr(self, step)()
        failure = raised.value.failure
        assert (failure.code, failure.blame) == ("EHB-OUTPUT-CHANGED", "machine")
        return failure


@pytest.fixture
def chain(kv: Quantized, tmp_path: Path) -> Chain:
    return Chain(kv, tmp_path / "chain")


def flip_a_bit(path: Path, place: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_the_digest_that_the_gate_looked_at_is_the_artifacts(chain: Chain) -> None:
    measured = chain.gate()["content_digest"]
    packaged = chain.package()
    assert measured == packaged["content_digest"]
    assert packaged["passport"]["gate"]["content_digest"] == measured
    assert chain.store.verify(measured).content_digest == measured


@pytest.mark.parametrize("name", [WEIGHTS, "model/config.json", "model/hf_quant_config.json"])
def test_one_bit_that_changes_after_the_gate_is_refused_by_the_files_name(
    name: str, chain: Chain
) -> None:
    measured = chain.gate()["content_digest"]
    flip_a_bit(chain.quantized.calibrate / name)
    assert f"`{name}`" in chain.refused("package").sentence
    assert not chain.store.exists(measured)


def test_one_bit_that_changes_before_the_gate_is_refused_by_the_files_name(chain: Chain) -> None:
    flip_a_bit(chain.quantized.calibrate / WEIGHTS)
    assert f"`{WEIGHTS}`" in chain.refused("gate").sentence


def test_a_model_that_was_made_anew_after_the_gate_is_not_packaged(chain: Chain) -> None:
    chain.gate()
    assert was_measured(chain.inputs["calibrate"], chain.inputs["gate"])
    flip_a_bit(chain.quantized.calibrate / WEIGHTS)
    reseal(chain.quantized.calibrate)
    assert not was_measured(chain.inputs["calibrate"], chain.inputs["gate"])
    assert "`model/model.safetensors` is not the file that the quality gate looked at" in (
        chain.refused("package").sentence
    )


def test_a_file_that_was_added_after_the_gate_is_named(chain: Chain) -> None:
    chain.gate()
    (chain.quantized.calibrate / "model" / "chat_template.jinja2").write_text("{{ messages }}")
    reseal(chain.quantized.calibrate)
    assert "`model/chat_template.jinja2`" in chain.refused("package").sentence


def test_a_gate_that_noted_no_files_is_one_of_another_model(chain: Chain) -> None:
    chain.gate()
    (chain.inputs["gate"] / "measured.json").unlink()
    assert not was_measured(chain.inputs["calibrate"], chain.inputs["gate"])
    chain.refused("package")
