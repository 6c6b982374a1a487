"""A full queue is drained by two workers, each build once."""

import pytest

from apps.builds.models import Artifact, Build
from tests.workers.tasks.building import MakeBuild, steps
from tests.workers.tasks.hands import Sweeper, orphans, send, wait_for_build
from tests.workers.tasks.pair import Pair

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.recovery, pytest.mark.engine]
STEP_DELAY_SECONDS = 0.0
BUILDS = 30


def test_thirty_builds_are_each_done_once_though_offered_twice(
    make_build: MakeBuild, pair: Pair
) -> None:
    builds = [make_build(pool=pair.pool) for _ in range(BUILDS)]
    for build in [*builds, *builds]:
        send(build)
    sweep = Sweeper()
    for build in builds:
        wait_for_build(build, lambda each: each.finished_at, seconds=120, meanwhile=sweep)
    ended = Build.objects.all()
    assert {(each.state, each.attempt) for each in ended} == {("succeeded", 1)}
    # Each claim raises the token: nobody took a build twice.
    assert {each.lease_token for each in ended} == {1}
    assert Artifact.objects.count() == 1
    assert {each.artifact_id for each in ended} == {Artifact.objects.get().id}
    worked = [each for each in ended if steps(each)["smoke_test"] == "finished"]
    assert 1 <= len(worked) <= 2
    assert not orphans()
