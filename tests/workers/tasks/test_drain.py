"""A full queue is drained by three workers, each build once."""

import os
import shutil
from pathlib import Path

import pytest

from apps.builds.models import Artifact, Build
from tests.workers.tasks.building import MakeBuild, steps
from tests.workers.tasks.hands import Sweeper, send, wait_for_build, wait_for_no_orphans
from tests.workers.tasks.pair import Pair
from workers.tasks.build import build_run
from workers.tasks.building.folders import BuildFolder

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.recovery,
    pytest.mark.engine,
    pytest.mark.process,
    pytest.mark.long,  # tests/apps/leases, test_build.py and test_every_step.py
]
WORKERS = 3


@pytest.fixture
def begun(make_build: MakeBuild, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What an earlier build fetched and inspected, for others to go on from."""
    with monkeypatch.context() as patched:
        patched.setattr(BuildFolder, "remove", lambda _folder: None)
        patched.setattr("workers.tasks.build.prune_host", lambda: None)
        first = make_build()
        build_run(build_id=first.id, format=1)
    return data_dir / "builds" / first.id


@pytest.mark.parametrize(
    ("count", "from_scratch"),
    [
        pytest.param(6, False, id="6 that are half done"),
        pytest.param(200, False, id="200 that are half done", marks=pytest.mark.long),
        pytest.param(200, True, id="200 from scratch", marks=pytest.mark.long),
    ],
)
def test_each_build_of_a_long_queue_is_done_once_though_offered_twice(
    make_build: MakeBuild, pair: Pair, begun: Path, count: int, from_scratch: bool
) -> None:
    Build.objects.all().delete()
    builds = [make_build(pool=pair.pool) for _ in range(count)]
    for build in builds if not from_scratch else ():
        for step in ("fetch", "inspect"):
            target = begun.parent / build.id / step
            shutil.copytree(begun / step, target, copy_function=os.link)
    for build in [*builds, *builds]:
        send(build)
    sweep = Sweeper()
    for build in builds:
        wait_for_build(build, lambda each: each.finished_at, meanwhile=sweep)
    ended = Build.objects.all()
    assert {(each.state, each.attempt) for each in ended} == {("succeeded", 1)}
    # Each claim raises the token: nobody took a build twice.
    assert {each.lease_token for each in ended} == {1}
    assert Artifact.objects.count() == 1
    assert {each.artifact_id for each in ended} == {Artifact.objects.get().id}
    assert all(steps(each)["smoke_test"] == "reused" for each in ended)
    assert len(pair.words().split("succeeded")) > count
    wait_for_no_orphans()
