"""The list of builds, a build's page, its log, and what can be asked of it."""

import pytest

from apps.builds.models import Build
from apps.telemetry.logs import log_append
from controlplane.domain.lifecycle import BuildState
from tests.apps.pages import committed_queries, polled, queries_of, signed_in
from tests.factories import make_build, make_cast, make_finished_build, make_revision, spec_json
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_the_list_takes_the_committed_number_of_queries() -> None:
    cast = make_cast()
    for _ in range(12):
        make_build(team=cast.team)
    assert queries_of(signed_in(cast.owner), "/builds/") == committed_queries("builds")


def test_an_outsider_finds_no_such_build() -> None:
    cast = make_cast()
    build = make_build(team=cast.team)
    owner, outsider = signed_in(cast.owner), signed_in(cast.outsider)
    for page in ("", "log/"):
        assert owner.get(f"/builds/{build.number}/{page}").status_code == 200
        assert outsider.get(f"/builds/{build.number}/{page}").status_code == 404
    for action in ("cancel", "retry", "promote", "fix"):
        assert outsider.post(f"/builds/{build.number}/{action}/").status_code == 404
    assert f"/builds/{build.number}/" not in outsider.get("/builds/").content.decode()


def test_a_failure_stands_above_the_log_with_cause_blame_and_code() -> None:
    cast = make_cast()
    failure = {
        "code": "EHF-GATED",
        "blame": "checkpoint",
        "sentence": "The licence of `org/model` is not accepted.",
        "hint": "Accept it on the hub.",
    }
    build = make_build(team=cast.team, state=BuildState.FAILED, failure=failure)
    page = signed_in(cast.owner).get(f"/builds/{build.number}/").content.decode()
    assert "The licence of <code>org/model</code> is not accepted." in page
    assert "The checkpoint has to change" in page
    assert page.index("EHF-GATED") < page.index('id="log"')
    assert f"<title>✕ failed · build {build.number}</title>" in page


def test_a_poll_is_answered_with_the_part_and_then_with_304() -> None:
    cast = make_cast()
    build = make_build(team=cast.team)
    client = signed_in(cast.owner)
    first = polled(client, f"/builds/{build.number}/")
    assert "<html" not in first.content.decode()
    tag = first.headers["HX-PTag"]
    same = polled(client, f"/builds/{build.number}/", **{"HX-PTag": tag})
    assert same.status_code == 304
    Build.objects.filter(id=build.id).update(state=BuildState.FETCHING)
    changed = polled(client, f"/builds/{build.number}/", **{"HX-PTag": tag})
    assert changed.status_code == 200


@pytest.mark.parametrize("after", ["²", "9" * 40, "-1", "x"])
def test_a_cursor_that_is_none_begins_the_log_anew(after: str) -> None:
    cast = make_cast()
    build = make_build(team=cast.team)
    log_append(owner=f"build:{build.id}:fetch", attempt=1, sequence=1, text="a line\n")
    answer = signed_in(cast.owner).get(f"/builds/{build.number}/log/", {"after": after})
    assert [line["text"] for line in answer.json()["lines"]] == ["a line"]


def test_the_log_goes_on_after_its_cursor() -> None:
    cast = make_cast()
    build = make_build(team=cast.team)
    log_append(owner=f"build:{build.id}:fetch", attempt=1, sequence=0, text="one\ntwo\n")
    client = signed_in(cast.owner)
    first = client.get(f"/builds/{build.number}/log/").json()
    assert [line["text"] for line in first["lines"]] == ["one", "two"]
    log_append(owner=f"build:{build.id}:fetch", attempt=1, sequence=1, text="three\n")
    later = client.get(f"/builds/{build.number}/log/?after={first['cursor']}").json()
    assert [line["text"] for line in later["lines"]] == ["three"]


def test_a_queued_build_is_cancelled_and_tried_again() -> None:
    cast = make_cast()
    build = make_build(team=cast.team)
    client = signed_in(cast.owner)
    client.post(f"/builds/{build.number}/cancel/")
    build.refresh_from_db()
    assert build.state == BuildState.CANCELLED
    page = client.get(f"/builds/{build.number}/").content.decode()
    assert folded(page).count(">not run<") == build.steps.count()
    client.post(f"/builds/{build.number}/retry/")
    build.refresh_from_db()
    assert (build.state, build.attempt) == (BuildState.QUEUED, 2)


def test_what_cannot_be_done_is_said_on_the_page_that_asked() -> None:
    cast = make_cast()
    build = make_finished_build(team=cast.team)
    client = signed_in(cast.owner)
    address = f"/builds/{build.number}/"
    answer = client.post(
        f"{address}retry/", headers={"Referer": f"http://testserver{address}"}, follow=True
    )
    assert "only a failed or cancelled build can be tried again" in answer.content.decode()


def test_an_artifact_shows_its_digests_files_and_tools() -> None:
    cast = make_cast()
    build = make_finished_build(team=cast.team)
    page = signed_in(cast.owner).get(f"/builds/{build.number}/").content.decode()
    assert build.artifact.content_digest in page
    assert build.artifact.input_digest in page
    assert "config.json" in page
    assert f"/models/deploy/{build.number}/" in page


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("auto", "The config leaves the runtime open; it was chosen when the build was made."),
        ("vllm", ""),
    ],
)
def test_page_and_list_say_what_serves_the_build_and_in_which_version(
    wanted: str, said: str
) -> None:
    cast = make_cast()
    spec = spec_json() | {
        "enginehouse": {"runtime": wanted}, "resources": {"accelerator": "H100:2"},
    }  # fmt: skip
    revision = make_revision(team=cast.team, spec=spec)
    build = make_finished_build(revision=revision, runtime="vllm")
    build.steps.filter(name="smoke_test").update(
        result={
            "answer": "yes",
            "first_token_seconds": 0.1,
            "tokens_per_second": 9.0,
            "engine": {"version": "0.25.1"},
        }
    )
    client = signed_in(cast.owner)
    page = client.get(f"/builds/{build.number}/").content.decode()
    assert f"Served by <code>vllm</code> 0.25.1 on H100\u00a0×\u00a02. {said}".strip() in page
    assert ("leaves the runtime open" in page) is bool(said)
    assert "vllm</span>" in client.get("/builds/").content.decode()


def test_a_build_of_before_runtimes_were_kept_names_none() -> None:
    cast = make_cast()
    build = make_finished_build(revision=make_revision(team=cast.team))
    page = signed_in(cast.owner).get(f"/builds/{build.number}/").content.decode()
    assert "Served by" not in page
