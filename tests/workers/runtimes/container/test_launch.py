"""What an engine in a container imports of ours is shown to it read-only, and on its path."""

from pathlib import Path

from controlplane.domain.runtimes import Launch
from workers.build_steps.processes import INSTANCE_VARIABLE, LEASE_VARIABLE
from workers.runtimes.container.image import Image
from workers.runtimes.container.launch import CACHE, contained
from workers.runtimes.container.order import Mount, Order


def test_a_folder_to_import_from_is_mounted_and_named(tmp_path: Path) -> None:
    part = tmp_path / "parts" / "lookahead-0123"
    contained(
        Launch(argv=("vllm",), environment={}, files={}),
        Image(id="sha256:0123456789abcdef", reference="vllm"),
        model=Mount(source="/m", target="/model"),
        folder=tmp_path,
        gpus=[],
        environment={"ENGINE_CACHE_DIR": str(tmp_path), LEASE_VARIABLE: "7:1",
                     INSTANCE_VARIABLE: "here"},
        failure_file=tmp_path / "failure.json",
        imports=part,
    )  # fmt: skip
    order = Order.read(tmp_path / "container" / "order.json")
    seen = "/enginehouse/imports/lookahead-0123"
    assert Mount(source=str(part), target=seen) in order.mounts
    assert order.environment["PYTHONPATH"] == seen
    assert order.environment["NUMBA_CACHE_DIR"] == f"{CACHE}/numba"
