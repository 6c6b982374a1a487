"""Apply and retry: the difference before and after, one build per failure, on the newest text."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from apps.accounts.models import AuditEntry
from apps.builds.failures.fixes import fix_proposal
from apps.builds.failures.services import build_apply_fix
from apps.builds.models import Build
from apps.configs.selectors import revision_last
from apps.configs.services.configs import revision_create
from apps.rest.errors import InvalidInput
from controlplane.domain.lifecycle import BuildState
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast
from tests.folded import folded

if TYPE_CHECKING:
    from apps.configs.models import Revision

pytestmark = pytest.mark.django_db
SEQUENCE = "trt_llm.build.max_seq_len"
CALIBRATION = "trt_llm.build.quantization_config.calib_dataset"
FAILURE: dict[str, Any] = {
    "code": "EHB-ALLOCATION",
    "blame": "machine",
    "sentence": "Step `calibrate` asked for 4,000 bytes.",
    "field": SEQUENCE,
    "hint": None,
    "fix": {SEQUENCE: 128},
    "detail": None,
}


@pytest.fixture
def failed(revision: "Revision") -> Build:
    build: Build = factories.make_build(revision=revision, state=BuildState.FAILED, failure=FAILURE)
    return build


@pytest.fixture
def owner(cast: Cast) -> RestClient:
    return client_of(cast.owner)


def later_text(revision: "Revision", more: str = "# saved later\n") -> str:
    return revision.text + more


def test_the_page_shows_what_the_fix_changes_before_anybody_presses_it(
    failed: Build, cast: Cast
) -> None:
    page = folded(signed_in(cast.owner).get(f"/builds/{failed.number}/").content.decode())
    assert "<ins>+ max_seq_len: 128</ins>" in page
    assert "<del>- max_seq_len: " in page
    assert f"<code>{SEQUENCE}</code>" in page
    assert "Set max_seq_len to 128 and retry" in page


@pytest.mark.parametrize(
    ("fix", "label"),
    [
        ({CALIBRATION: "enginehouse/general"}, "Use enginehouse/general and retry"),
        ({SEQUENCE: None}, "Leave out max_seq_len and retry"),
        ({SEQUENCE: 64, CALIBRATION: "enginehouse/general"}, "Apply 2 changes and retry"),
    ],
)
def test_the_button_of_a_fix_says_what_it_does(
    failed: Build, fix: dict[str, Any], label: str
) -> None:
    failed.failure = FAILURE | {"fix": fix}
    proposal = fix_proposal(failed)
    assert proposal is not None
    assert proposal.label == label


def test_the_fix_makes_a_revision_and_a_build_that_name_the_failed_one(
    failed: Build, cast: Cast
) -> None:
    browser = signed_in(cast.owner)
    answer = browser.post(f"/builds/{failed.number}/fix/")
    made = Build.objects.exclude(id=failed.id).get()
    assert answer.headers["Location"] == f"/builds/{made.number}/"
    assert made.revision.number == failed.revision.number + 1
    assert made.revision.spec["trt_llm"]["build"]["max_seq_len"] == 128
    assert made.after == failed
    page = folded(browser.get(f"/builds/{made.number}/").content.decode())
    assert f"build {failed.number}</a> failed with <code>EHB-ALLOCATION</code>" in page
    assert "<ins>+ max_seq_len: 128</ins>" in page
    before = folded(browser.get(f"/builds/{failed.number}/").content.decode())
    assert f"Build {made.number} has it" in before
    assert "Set max_seq_len to 128 and retry" not in before


def test_a_second_click_leads_to_the_build_of_the_first(failed: Build, cast: Cast) -> None:
    first = build_apply_fix(build=failed, user=cast.owner)
    second = build_apply_fix(build=failed, user=cast.owner)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.build == second.build
    assert Build.objects.count() == 2


def test_a_config_that_moved_on_gets_the_fix_in_its_newest_text(failed: Build, cast: Cast) -> None:
    newest = revision_create(
        config=failed.revision.config, text=later_text(failed.revision), user=cast.owner
    )
    proposal = fix_proposal(failed)
    assert proposal is not None
    assert proposal.moved_on
    page = folded(signed_in(cast.owner).get(f"/builds/{failed.number}/").content.decode())
    assert f"applied to revision {newest.number}, not to revision 1" in page
    made = build_apply_fix(build=failed, user=cast.owner).build
    assert "# saved later" in made.revision.text
    assert made.fixed is not None
    assert made.fixed["base_revision"] == newest.number


def test_a_fix_that_is_in_the_newest_text_already_is_only_built(failed: Build, cast: Cast) -> None:
    proposal = fix_proposal(failed)
    assert proposal is not None
    by_hand = revision_create(config=failed.revision.config, text=proposal.text, user=cast.owner)
    page = signed_in(cast.owner).get(f"/builds/{failed.number}/").content.decode()
    assert f"Build revision {by_hand.number}" in page
    assert build_apply_fix(build=failed, user=cast.owner).build.revision == by_hand


def test_a_fix_that_makes_the_config_invalid_is_refused_and_nothing_is_saved(
    failed: Build, cast: Cast
) -> None:
    Build.objects.filter(id=failed.id).update(failure=FAILURE | {"fix": {SEQUENCE: "many"}})
    failed.refresh_from_db()
    page = signed_in(cast.owner).get(f"/builds/{failed.number}/").content.decode()
    assert "It no longer fits revision 1" in page
    assert "Set max_seq_len to 128 and retry" not in page
    with pytest.raises(InvalidInput, match="no longer fits revision 1"):
        build_apply_fix(build=failed, user=cast.owner)
    last = revision_last(config=failed.revision.config)
    assert last is not None
    assert last.number == 1
    assert Build.objects.count() == 1


def test_a_fixed_config_that_the_checks_block_is_saved_and_opened(
    failed: Build, cast: Cast
) -> None:
    blocked = {"trt_llm.build.checkpoint_repository.repo": "/nowhere/else"}
    Build.objects.filter(id=failed.id).update(failure=FAILURE | {"fix": blocked})
    answer = signed_in(cast.owner).post(f"/builds/{failed.number}/fix/")
    assert answer.headers["Location"] == f"/configs/{failed.revision.config_id}/"
    last = revision_last(config=failed.revision.config)
    assert last is not None
    assert last.number == 2
    assert Build.objects.count() == 1


def test_over_rest_the_fix_is_looked_at_and_applied(failed: Build, owner: RestClient) -> None:
    status, seen = owner.get(f"/v1/builds/{failed.id}/fix")
    assert status == 200
    assert seen["changes"] == [{"field": SEQUENCE, "old": seen["changes"][0]["old"], "new": 128}]
    assert "+     max_seq_len: 128" in seen["difference"]
    status, made = owner.post(f"/v1/builds/{failed.id}/apply_fix")
    assert status == 201, made
    assert made["after"]["id"] == failed.id
    assert made["after"]["code"] == "EHB-ALLOCATION"
    assert "+     max_seq_len: 128" in made["after"]["difference"]
    assert owner.post(f"/v1/builds/{failed.id}/apply_fix") == (200, made)
    assert AuditEntry.objects.get(action="build.apply_fix").target_id == made["id"]
    outcome = owner.get(f"/v1/builds/{failed.id}")[1]
    assert [each["id"] for each in outcome["followed_by"]] == [made["id"]]


def test_a_failure_without_fix_has_none_to_apply_and_an_outsider_none_at_all(
    failed: Build, owner: RestClient, cast: Cast, tiny_checkpoint: Path
) -> None:
    outsider = client_of(cast.outsider)
    for path in ("fix", "support_bundle"):
        assert outsider.get(f"/v1/builds/{failed.id}/{path}")[0] == 404
    assert outsider.post(f"/v1/builds/{failed.id}/apply_fix")[0] == 404
    Build.objects.filter(id=failed.id).update(failure=FAILURE | {"fix": None})
    assert owner.get(f"/v1/builds/{failed.id}/fix")[0] == 404
    status, answer = owner.post(f"/v1/builds/{failed.id}/apply_fix")
    assert (status, answer["message"]) == (404, f"The failure of build {failed.number} has no fix.")


def test_the_new_revision_shows_what_changed_since_the_one_before(
    failed: Build, cast: Cast
) -> None:
    made = build_apply_fix(build=failed, user=cast.owner).build
    browser = signed_in(cast.owner)
    address = f"/configs/{made.revision.config_id}/revisions"
    page = browser.get(f"{address}/{made.revision.number}/").content.decode()
    assert "Changed since revision 1" in page
    assert "<ins>+     max_seq_len: 128</ins>" in page
    assert "Changed since" not in browser.get(f"{address}/1/").content.decode()
