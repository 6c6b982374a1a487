"""What an engine in a container is shown of its host, and told."""

from pathlib import Path

from controlplane.domain.runtimes import Launch
from workers.build_steps.processes import INSTANCE_VARIABLE, LEASE_VARIABLE
from workers.runtimes.container.image import Image
from workers.runtimes.container.launch import CACHE, contained
from workers.runtimes.container.order import Mount, Order


def ordered(tmp_path: Path, *, imports: Path | None = None, **environment: str) -> Order:
    contained(
        Launch(argv=("vllm",), environment={}, files={}),
        Image(id="sha256:0123456789abcdef", reference="vllm"),
        model=Mount(source="/m", target="/model"),
        folder=tmp_path,
        gpus=[],
        environment={"ENGINE_CACHE_DIR": str(tmp_path), LEASE_VARIABLE: "7:1",
                     INSTANCE_VARIABLE: "here", **environment},
        failure_file=tmp_path / "failure.json",
        imports=imports,
    )  # fmt: skip
    return Order.read(tmp_path / "container" / "order.json")


def test_a_folder_to_import_from_is_mounted_and_named(tmp_path: Path) -> None:
    part = tmp_path / "parts" / "lookahead-0123"
    order = ordered(tmp_path, imports=part)
    seen = "/enginehouse/imports/lookahead-0123"
    assert Mount(source=str(part), target=seen) in order.mounts
    assert order.environment["PYTHONPATH"] == seen
    assert order.environment["NUMBA_CACHE_DIR"] == f"{CACHE}/numba"


def test_it_is_told_how_the_gpus_of_the_host_reach_each_other(tmp_path: Path) -> None:
    environment = ordered(tmp_path, NCCL_NVLS_ENABLE="0", AWS_SECRET_ACCESS_KEY="s").environment
    assert environment["NCCL_NVLS_ENABLE"] == "0"
    assert "AWS_SECRET_ACCESS_KEY" not in environment
