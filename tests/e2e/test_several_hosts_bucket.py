"""Two hosts that share no folder: artifacts lie in a bucket that both reach."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from controlplane.clock import SYSTEM
from tests.artifacts.places import BucketPlace
from tests.bucket_server import BucketServer
from tests.e2e.installation import TINY_YAML, eventually
from tests.several_hosts.host import Host
from tests.several_hosts.network import RANGE, Network
from tests.several_hosts.stage import Stage, two_hosts

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.allow_hosts([RANGE, "127.0.0.0/8"]),
]
_ENGINE, _GATEWAY = "workers.runtimes.native", "workers.gateway"


class Bucket:
    """The store, once the network is there."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.place: BucketPlace

    def serve(self, network: Network) -> Mapping[str, str]:
        """Start it where clients are; return what both `.env` say of it."""
        made = network.from_outside(
            lambda: BucketServer("S3", clock=SYSTEM, address=network.address_outside)
        )
        self.place = BucketPlace(self._stack.enter_context(made))
        return {"ARTIFACT_URL": self.place.url, **self.place.variables}


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with ExitStack() as stack:
        yield Bucket(stack)


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory, bucket: Bucket) -> Iterator[Stage]:
    more = {"MODEL_CLASS_CACHE": os.environ["MODEL_CLASS_CACHE"]}
    with two_hosts(tmp_path_factory.mktemp("hosts"), more, store=bucket.serve) as stage:
        stage.start_control_plane()
        stage.join_gpu_host()
        yield stage


def test_a_build_is_served_without_a_shared_folder_and_without_the_store_once_it_is_copied(
    stage: Stage, bucket: Bucket
) -> None:
    model = stage.deploy(TINY_YAML)
    (build,) = stage.get("builds")["items"]
    assert build["state"] == "succeeded"
    assert len(bucket.place.kept("manifests")) == 1
    assert not [path for path in stage.folder.rglob("blobs") if path.is_dir()]

    def answers(host: Host) -> bool:
        return stage.ask(host, model["id"]).status_code == httpx.codes.OK

    for host in (stage.control, stage.gpu):
        assert answers(host)
    assert_without_the_login(stage.gpu, _ENGINE, bucket)
    for host in (stage.control, stage.gpu):
        assert_without_the_login(host, _GATEWAY, bucket)
        assert bucket.place.secret not in host.logs()
    # From here on the store refuses every request.
    bucket.place.server.is_skewed = True
    assert answers(stage.gpu)
    (engine,) = stage.gpu.pids(_ENGINE)
    os.kill(engine, signal.SIGKILL)
    eventually(
        lambda: stage.gpu.pids(_ENGINE) not in ([], [engine]) and answers(stage.control),
        what=stage.told("another engine starts from the copy"),
    )
    eventually(
        lambda: "the artifact store cannot be used" in stage.control.log("control"),
        what=stage.told("the control plane says that the store cannot be used"),
    )


def assert_without_the_login(host: Host, mark: str, bucket: Bucket) -> None:
    pids = host.pids(mark)
    assert pids
    for pid in pids:
        text = Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/cmdline").read_text()
        assert bucket.place.secret not in text
