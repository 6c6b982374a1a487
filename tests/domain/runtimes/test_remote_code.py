"""An engine executes an artifact's own Python only where it is told that an admin granted it."""

import pytest
import yaml

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.rules.examples import SMOLLM2_135M
from controlplane.domain.rules.serving.engine_arguments import v2_example
from controlplane.domain.runtimes.native import render as native
from controlplane.domain.spec import Spec, parse_mapping
from tests.domain.conftest import MakeSpec
from tests.domain.runtimes.golden import launch_of

FLAG, KEY = "--trust-remote-code", "trust_remote_code"


@pytest.fixture
def asking() -> Spec:
    """A config that asks for it by itself, which gives it nothing."""
    spec = parse_mapping(v2_example({KEY: True}).content).spec
    assert spec is not None
    return spec


def test_vllm_trusts_the_code_of_a_granted_artifact_and_of_no_other(
    make_spec: MakeSpec, asking: Spec
) -> None:
    for spec in (make_spec(), asking):
        assert FLAG not in launch_of("vllm", spec).argv
        assert launch_of("vllm", spec, runs_remote_code=True).argv.count(FLAG) == 1


def test_tensorrt_llm_trusts_the_code_of_a_granted_artifact_and_of_no_other(
    make_spec: MakeSpec, asking: Spec
) -> None:
    for spec in (make_spec(), asking):
        for granted in (False, True):
            launch = launch_of("trtllm", spec, runs_remote_code=granted)
            [file] = launch.files.values()
            assert yaml.safe_load(file).get(KEY, False) is granted
            assert KEY not in " ".join(launch.argv).replace("-", "_")


def test_the_native_engine_is_not_started_on_an_artifact_that_runs_its_remote_code(
    make_spec: MakeSpec,
) -> None:
    with pytest.raises(ValueError, match="executes nothing from a checkpoint"):
        native.render(
            make_spec(),
            SMOLLM2_135M,
            model_dir="/m",
            host="127.0.0.1",
            port=4000,
            python="python",
            threads=1,
            memory_bytes=4 * GIB,
            runs_remote_code=True,
        )
