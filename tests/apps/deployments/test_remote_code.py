"""Grants for code of checkpoints: who gives them, what they change, what a revocation does."""

from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.builds.models import Build
from apps.configs.models import RemoteCodeGrant
from apps.configs.remote_code.services import remote_code_grant, remote_code_revoke
from apps.configs.services.examination import revision_examine
from apps.deployments.models import Deployment
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_copy,
    deployment_create,
)
from apps.deployments.wanted_replicas import wanted_replicas_of
from apps.rest.errors import Conflict
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import parse_text
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import RestClient, client_of
from workers.tasks.building.remote_code import grants_of_build, refuse_remote_code, was_left_out
from workers.tasks.building.stopped import StepFailed

pytestmark = pytest.mark.django_db

COMMIT, OTHER = "a" * 40, "b" * 40
WANTED = {"source": "HF", "repo": "acme/own", "commit": COMMIT, "reason": "read line by line"}
PATH = "/v1/remote_code_grants"


def test_only_an_admin_of_the_organisation_reads_grants_and_revokes(cast: factories.Cast) -> None:
    admin = client_of(cast.organisation_admin)
    status, made = admin.post(PATH, WANTED)
    assert (status, made["is_live"], made["granted_by"]) == (201, True, "admin@example.com")
    revoke = f"{PATH}/{made['id']}/revoke"
    for person in (cast.owner, cast.member, cast.outsider):
        client = client_of(person)
        for answer in (
            client.get(PATH),
            client.get(f"{PATH}/{made['id']}"),
            client.post(PATH, WANTED),
            client.post(revoke, {"reason": "no"}),
        ):
            assert answer[0] == 403
            assert "acme" not in str(answer)
        assert signed_in(person).get("/remote-code/").status_code == 403
        assert signed_in(person).post("/remote-code/", WANTED).status_code == 403
    assert RemoteCodeGrant.objects.get().revoked_at is None
    assert admin.post(revoke, {"reason": "not needed"})[1]["revoke_reason"] == "not needed"
    assert admin.post(revoke, {"reason": "again"})[0] == 409
    values = AuditEntry.objects.filter(action__startswith="remote_code").values_list(
        "action", "team_id"
    )
    assert list(values.order_by("id")) == [("remote_code.grant", ""), ("remote_code.revoke", "")]


@pytest.mark.parametrize("type", ["WORKSPACE_MANAGE_ALL", "WORKSPACE_INVOKE"])
def test_a_key_of_a_team_neither_grants_nor_reads_grants(cast: factories.Cast, type: str) -> None:
    grant = remote_code_grant(**WANTED, user=cast.organisation_admin)
    # Of the very team of an admin of the organisation: it is the team's all the same.
    key = factories.make_api_key(team=cast.organisation_admin.team, type=type)
    request = RestClient(key)
    for status, answer in (
        request.get(PATH),
        request.get(f"{PATH}/{grant.id}"),
        request.post(PATH, WANTED | {"commit": OTHER}),
        request.post(f"{PATH}/{grant.id}/revoke", {"reason": "no"}),
    ):
        assert status == 403
        assert "acme" not in str(answer)
    assert RemoteCodeGrant.objects.get().revoked_at is None


def test_a_grant_is_for_one_whole_commit_given_once_and_listed_page_by_page(
    cast: factories.Cast,
) -> None:
    admin = client_of(cast.organisation_admin)
    for commit in ("main", "v1.0", "abc1234"):
        status, answer = admin.post(PATH, WANTED | {"commit": commit})
        assert status == 400
        assert f"`{commit}` is no whole commit" in str(answer)
    assert admin.post(PATH, WANTED | {"reason": "  "})[0] == 400
    for commit in (COMMIT, OTHER):
        assert admin.post(PATH, WANTED | {"commit": commit})[0] == 201
    assert admin.post(PATH, WANTED)[0] == 409
    first = admin.get(PATH, limit=1)[1]
    rest = admin.get(PATH, limit=1, cursor=first["pagination"]["cursor"])[1]
    assert [each["commit"] for each in (*first["items"], *rest["items"])] == [OTHER, COMMIT]


@pytest.mark.parametrize(
    ("source", "repo"),
    [("HF", "a b"), ("HF", "Ä"), ("HF", "a/b/c"), ("HF", "acme/own.git"), ("HF", "a\u200bb"),
     ("S3", "acme/own"), ("GCS", "s3://bucket/own"), ("AZURE", "az://B/own"), ("LOCAL", "a\x00b"),
     ("REMOTE_URL", "acme/own"), ("REMOTE_URL", "https://host/a b.tar")],
)  # fmt: skip
def test_a_grant_names_a_repository_that_a_config_could_name(
    cast: factories.Cast, source: str, repo: str
) -> None:
    target = WANTED | {"source": source, "repo": repo, "commit": COMMIT}
    status, answer = client_of(cast.organisation_admin).post(PATH, target)
    assert (status, answer["fields"]) == (400, ["repo"])
    assert not RemoteCodeGrant.objects.exists()


@pytest.mark.parametrize(
    ("source", "repo"),
    [("HF", "gpt2"), ("S3", "s3://bucket/own"), ("LOCAL", "/models/Mein Modell ä"),
     ("REMOTE_URL", "https://host/a.tar?sig=1")],
)  # fmt: skip
def test_a_grant_takes_the_forms_of_each_source(
    cast: factories.Cast, source: str, repo: str
) -> None:
    target = WANTED | {"source": source, "repo": repo, "commit": COMMIT}
    assert client_of(cast.organisation_admin).post(PATH, target)[0] == 201


@pytest.mark.parametrize(
    ("commit", "code", "blocks"),
    [(None, "EH830", True), (OTHER, "EH830", True), (COMMIT, "EH832", False)],
)
def test_the_checks_say_whether_this_very_commit_is_granted(
    cast: factories.Cast, commit: str | None, code: str, blocks: bool
) -> None:
    if commit is not None:
        remote_code_grant(**WANTED | {"commit": commit}, user=cast.organisation_admin)
    revision = _revision(cast)
    examination = revision_examine(revision=revision)
    by_code = {each.code: each for each in examination.report.findings}
    assert code in by_code
    assert examination.blocks_build is blocks
    message = by_code[code].message
    assert COMMIT[:12] in message
    assert ("admin@example.com" if code == "EH832" else "/remote-code/") in message


def test_a_revocation_stops_a_build_at_its_next_step_and_what_it_left_out_is_fetched_again(
    cast: factories.Cast,
) -> None:
    build = factories.make_build(team=cast.team, revision=_revision(cast))
    left = {"commit": COMMIT, "remote_code_state": "left"}
    assert not was_left_out(build, "fetch", left)
    grant = remote_code_grant(**WANTED, user=cast.organisation_admin)
    assert was_left_out(build, "fetch", left)
    assert [each.commit for each in grants_of_build(build).live] == [COMMIT]
    results = {
        "fetch": {"commit": COMMIT},
        "inspect": {
            "remote_code": {"runs": True},
            "checkpoint": {"architecture": "OwnForCausalLM"},
        },
    }
    refuse_remote_code(build, results)
    remote_code_revoke(grant=grant, reason="a hole was found", user=cast.organisation_admin)
    with pytest.raises(StepFailed, match="a hole was found") as stopped:
        refuse_remote_code(build, results)
    assert stopped.value.failure.code == "EHQ-REMOTE-CODE"


def test_a_revocation_blocks_new_deployments_and_names_what_still_runs(
    cast: factories.Cast,
) -> None:
    admin = client_of(cast.organisation_admin)
    grant = remote_code_grant(**WANTED, user=cast.organisation_admin)
    served = _deployment(cast)
    node = factories.make_node()
    factories.make_replica(deployment=served, node=node)
    assert wanted_replicas_of(node=node)[0]["runs_remote_code"] is True
    report = admin.post(f"{PATH}/{grant.id}/revoke", {"reason": "no"})[1]
    assert [each["deployment_id"] for each in report["running"]] == [served.id]
    page = signed_in(cast.organisation_admin).get("/remote-code/").content.decode()
    assert f"{served.model.name}/{served.name}" in page
    served.refresh_from_db()
    assert served.state == "active"
    build = served.build
    assert build is not None
    with pytest.raises(Conflict, match="its grant was revoked"):
        deployment_create(model=served.model, build=build)
    with pytest.raises(Conflict):
        deployment_copy(deployment=served)
    Deployment.objects.filter(id=served.id).update(state="inactive")
    with pytest.raises(Conflict):
        deployment_activate(deployment=served)
    remote_code_grant(**WANTED, user=cast.organisation_admin)
    assert deployment_activate(deployment=served)


def test_the_page_grants_for_the_build_that_failed_and_its_device_leads_there(
    cast: factories.Cast,
) -> None:
    failure = {"code": "EHQ-REMOTE-CODE", "blame": "checkpoint", "sentence": "Nobody granted it."}
    build = factories.make_build(
        team=cast.organisation_admin.team, revision=_revision(cast), state="failed", failure=failure
    )
    build.steps.filter(name="fetch").update(result={"commit": COMMIT})
    browser = signed_in(cast.organisation_admin)
    link = f"/remote-code/?build={build.number}"
    assert link in browser.get(f"/builds/{build.number}/").content.decode()
    form = browser.get(link).content.decode()
    assert f'value="{COMMIT}"' in form
    assert 'value="acme/own"' in form
    refused = browser.post("/remote-code/", WANTED | {"commit": "main"})
    assert refused.status_code == 400
    assert "no whole commit" in refused.content.decode()
    assert browser.post("/remote-code/", WANTED).status_code == 302
    grant = RemoteCodeGrant.objects.get()
    assert browser.post(f"/remote-code/{grant.id}/revoke/", {"reason": "x"}).status_code == 302
    grant.refresh_from_db()
    assert (grant.revoked_by, grant.revoke_reason) == ("admin@example.com", "x")


def _revision(cast: factories.Cast) -> Any:
    """Return a revision for vLLM of a checkpoint that brings its class, at COMMIT."""
    text = factories.CONFIG_TEXT.format(repo="acme/own").replace("source: LOCAL", "source: HF")
    text = text.replace('  cpu: "2"\n', "  accelerator: H100\n") + "enginehouse:\n  runtime: vllm\n"
    facts = CheckpointFacts(
        architecture="OwnForCausalLM", model_type="own", remote_code=True, layers=2,
        hidden_size=64, attention_heads=4, kv_heads=2, head_dim=16, intermediate_size=128,
        vocabulary_size=512, max_positions=2048, dtype="bfloat16", parameters=200_000,
        weight_bytes=400_000, has_weights=True, commit=COMMIT,
    )  # fmt: skip
    factories.make_checkpoint_record(
        team=cast.team, source="HF", repo="acme/own", state="ready", commit=COMMIT,
        facts=facts.model_dump(mode="json"),
    )  # fmt: skip
    node = factories.make_node(runtimes=["native", "vllm"])
    factories.make_device(node=node, kind="H100", memory_bytes=80 * 1024**3)
    config = factories.make_config(team=cast.team)
    spec = parse_text(text).spec
    assert spec is not None
    return factories.make_revision(config=config, text=text, spec=spec.model_dump(mode="json"))


def _deployment(cast: factories.Cast) -> Deployment:
    passport = {
        "format": 1,
        "checkpoint": {"source": "HF", "repo": "acme/own", "commit": COMMIT},
        "remote_code": {"commit": COMMIT, "grant": {}, "files": []},
    }
    artifact = factories.make_artifact(team=cast.team, passport=passport)
    build: Build = factories.make_finished_build(team=cast.team, artifact=artifact)
    return factories.make_deployment(
        model=factories.make_model(team=cast.team), build=build, artifact=artifact, state="active"
    )
