"""What a step leaves, read back as it was stored."""

import json

from controlplane.domain.step_results import CodeFile, DataIdentity, FetchedFile, FetchResult

FETCHED = FetchResult(
    commit="c1",
    files=(FetchedFile(path="config.json", size_bytes=9, sha256="ab"),),
    calibration=DataIdentity(dataset="d", config=None, split="train", revision="r1"),
)


def test_a_result_is_read_as_it_was_stored() -> None:
    assert FetchResult.model_validate(json.loads(json.dumps(FETCHED.to_json()))) == FETCHED


def test_of_a_checkpoint_without_code_nothing_is_said_of_code() -> None:
    assert not {"remote_code", "remote_code_state"} & FETCHED.to_json().keys()
    code = FETCHED.model_copy(update={"remote_code": (CodeFile(path="m.py", sha256="cd"),)})
    assert code.to_json()["remote_code"] == [{"path": "m.py", "sha256": "cd"}]


def test_results_of_older_and_newer_releases_are_read() -> None:
    assert FetchResult.model_validate({"commit": "c1", "colour": "blue"}).not_finite == {}
