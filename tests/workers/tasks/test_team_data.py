"""Builds calibrate on a set that the team keeps, and are other builds once its content is another.

They run in this process, as a worker would run them.
"""

import io
from pathlib import Path

import pytest

from apps.accounts.models import Team
from apps.builds.models import Build
from apps.configs.calibration_sets.models import CalibrationVersion
from apps.configs.calibration_sets.services.sets import set_delete, set_upload
from apps.configs.models import Revision
from tests.apps.configs.calibration_sets.uploads import jsonl
from tests.workers.tasks.building import MakeBuild, make_buildable, steps
from workers.tasks.build import build_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
FP8 = """    quantization_type: fp8
    quantization_config:
      calib_dataset: team/lines
      calib_size: 64
      calib_max_seq_length: 64
enginehouse:
  gate:
    enabled: false
"""


@pytest.fixture
def revision(checkpoint: Path, broker: str, transactional_db: None) -> Revision:
    return make_buildable(checkpoint, added=FP8)


def upload(team: Team, content: bytes) -> CalibrationVersion:
    """Make the content the last version of the set."""
    file = io.BytesIO(content)
    return set_upload(team=team, name="lines", file=file, file_name="lines.jsonl").version


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


@pytest.mark.long
def test_the_digest_of_the_set_is_in_the_passport_and_decides_about_reuse(
    make_build: MakeBuild, revision: Revision
) -> None:
    team = revision.config.team
    first = upload(team, b'{"text": ""}\n{"text": "Title"}\n' + jsonl(40))
    built = run(make_build(revision=revision))
    assert (built.state, built.failure) == ("succeeded", None)
    assert built.artifact is not None
    calibration = built.artifact.passport["calibration"]
    assert (calibration["dataset"], calibration["revision"]) == ("team/lines", first.digest)
    assert (calibration["skipped_empty"], calibration["skipped_short"], calibration["seed"]) == (
        1,
        1,
        20_260_101,
    )
    shown = built.steps.get(name="calibrate").result["samples"]
    assert len(shown) == 5
    assert "The capital of France is Paris" in shown[0]["text"]

    upload(team, b"".join(b'{"text": "Title %d"}\n' % number for number in range(12)))
    other = run(make_build(revision=revision))
    assert (other.state, steps(other)["calibrate"]) == ("failed", "failed")
    assert other.failure["code"] == "EHC-TOO-FEW"
    assert "12 shorter than 16 tokens" in other.failure["sentence"]

    again = upload(team, b'{"text": ""}\n{"text": "Title"}\n' + jsonl(40))
    assert (again.number, again.digest) == (3, first.digest)
    reused = run(make_build(revision=revision))
    assert reused.artifact == built.artifact
    assert steps(reused)["calibrate"] == "reused"


def test_a_set_that_was_deleted_after_the_build_was_queued_fails_it_by_name(
    make_build: MakeBuild, revision: Revision
) -> None:
    kept = upload(revision.config.team, jsonl(40))
    build = make_build(revision=revision)
    set_delete(calibration_set=kept.set)
    failed = run(build)
    assert (failed.state, failed.failure["code"]) == ("failed", "EHC-NO-SET")
    assert "`team/lines`" in failed.failure["sentence"]
