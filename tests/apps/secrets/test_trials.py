"""Tests of secrets: asked for, made by a worker under a lease, told in words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from apps.accounts.key_ring import key_ring_ensure
from apps.accounts.models import AuditEntry
from apps.leases.lease import Lease
from apps.leases.redeeming import lease_redeem
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from apps.rest.errors import InvalidInput
from apps.secrets.models import Secret, SecretTest
from apps.secrets.services.trials import (
    SECRET_TEST,
    secret_test_finish,
    secret_test_request,
)
from apps.secrets.services.values import secret_set
from controlplane.domain.secret_tests import ProbeAnswer
from tests.apps.pages import polled, signed_in
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast, make_cast, make_config, make_revision, spec_json
from tests.hub_server import HubServer
from workers.tasks.secret_tests import test_secret as run_test

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
VALUE = "hf_CanaryCanaryCanary"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def secret(cast: Cast) -> Secret:
    return secret_set(team=cast.team, name="hf_access_token", value=VALUE, user=cast.owner)


@pytest.fixture
def hub(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with HubServer() as server:
        settings.HF_ENDPOINT = server.url
        yield server


def claimed(test: SecretTest) -> Lease:
    lease = lease_claim(kind=SECRET_TEST, id=test.id)
    assert lease is not None
    return lease


@pytest.mark.django_db(transaction=True)
def test_a_worker_tries_the_token_and_the_page_and_the_rest_tell(
    live_server: Any, settings: Settings, hub: HubServer, cast: Cast, secret: Secret
) -> None:
    settings.CONTROL_PLANE_URL = live_server.url
    hub.tokens.add(VALUE)
    hub.add("org/gated", {"config.json": b"{}"}, gated=True, readers={VALUE})
    rest, page = client_of(cast.member), signed_in(cast.member)
    status, request = rest.post("/v1/secrets/hf-access-token/test", {"target": "org/gated"})
    assert (status, request["state"], request["works"]) == (202, "waiting", None)
    assert AuditEntry.objects.get(action="secret.test").after == {"target": "org/gated"}
    assert "data-moving" in polled(page, f"/secrets/{secret.id}/").content.decode()
    run_test(secret_test_id=request["id"])
    _, report = rest.get(f"/v1/secrets/hf_access_token/tests/{request['id']}")
    assert report["works"] is True
    assert "reads `org/gated`" in report["sentence"]
    shown = polled(page, f"/secrets/{secret.id}/").content.decode()
    assert "data-moving" not in shown
    assert "reads <code>org/gated</code>" in shown
    assert VALUE not in shown + json.dumps(report)
    assert Secret.objects.get().last_used_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_control_plane_that_is_away_is_the_answer(
    settings: Settings, secret: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.tasks.leasing.redeeming.PATIENCE_SECONDS", 0.0)
    settings.CONTROL_PLANE_URL = "http://127.0.0.1:9"
    test = secret_test_request(secret=secret, target="org/gated")
    run_test(secret_test_id=test.id)
    test.refresh_from_db()
    assert (test.works, test.state) == (False, "failed")
    assert "could not be had" in test.sentence


@pytest.mark.django_db(transaction=True)
def test_a_secret_under_a_lost_key_is_the_answer(
    live_server: Any, settings: Settings, secret: Secret
) -> None:
    settings.CONTROL_PLANE_URL = live_server.url
    settings.KEY_RING_FILE.unlink()
    key_ring_ensure(settings.KEY_RING_FILE)
    test = secret_test_request(secret=secret, target="org/gated")
    run_test(secret_test_id=test.id)
    test.refresh_from_db()
    assert (test.works, test.state) == (False, "failed")
    assert test.sentence.startswith("The secret `hf_access_token` does not open.")
    assert test.hint.startswith("Store its value anew")


def test_the_value_goes_to_the_holder_of_the_live_lease(secret: Secret) -> None:
    test = secret_test_request(secret=secret, target="org/gated")
    lease = claimed(test)
    values = {"name": "secret_test", "id": test.id, "token": lease.token, "secret": lease.secret}
    assert lease_redeem(**values) == {"hf_access_token": VALUE}
    assert lease_claim(kind=SECRET_TEST, id=test.id) is None
    assert secret_test_finish(lease=lease, answer=ProbeAnswer(works=True, sentence="It does."))
    assert lease_redeem(**values) is None


def test_a_worker_that_is_lost_each_time_is_the_answer_at_last(secret: Secret) -> None:
    test = secret_test_request(secret=secret, target="org/gated")
    for _ in range(3):
        claimed(test)
        SecretTest.objects.update(lease_expires_at=None)
    leases_sweep(SECRET_TEST)
    test.refresh_from_db()
    assert (test.state, test.works) == ("failed", False)
    assert "was lost 3 times" in test.sentence


def test_two_presses_make_one_test_and_old_tests_are_forgotten(secret: Secret) -> None:
    first = secret_test_request(secret=secret, target="org/gated")
    assert secret_test_request(secret=secret, target=" org/gated ") == first
    for number in range(25):
        lease = claimed(secret_test_request(secret=secret, target=f"org/m{number}"))
        secret_test_finish(lease=lease, answer=ProbeAnswer(works=False, sentence="No."))
    assert SecretTest.objects.count() == 21


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "1 to 2,000"),
        ("x" * 2001, "1 to 2,000"),
        ("not a repository", "nothing that a secret can be tested on"),
        ("../../etc/passwd", "nothing that a secret can be tested on"),
        ("s3://", "names no bucket"),
        ("s3://weights", "is sent to the hub only"),
        ("https://evil.example/collect", "A secret is not sent to `evil.example`"),
        ("http://huggingface.co/x", "over https only"),
        ("https://user:pw@huggingface.co/x", "a login or a signature"),
        ("https://huggingface.co@evil.example/x", "a login or a signature"),
        ("https://huggingface.co/x?X-Amz-Signature=abc", "a login or a signature"),
    ],
)
def test_a_value_is_sent_to_nobody_whom_the_operator_has_not_named(
    secret: Secret, settings: Settings, target: str, words: str
) -> None:
    settings.HF_ENDPOINT = "https://huggingface.co"
    with pytest.raises(InvalidInput, match=words) as caught:
        secret_test_request(secret=secret, target=target)
    assert caught.value.fields == ("target",)
    assert SecretTest.objects.count() == 0


def test_the_operator_names_further_hosts(secret: Secret, settings: Settings) -> None:
    settings.SECRET_TEST_HOSTS = ["weights.example.com"]
    test = secret_test_request(secret=secret, target="https://weights.example.com/file")
    assert test.kind == "url"


def test_what_configs_have_a_secret_open_is_suggested(cast: Cast, secret: Secret) -> None:
    spec = spec_json()
    spec["secrets"] = {"hf_access_token": None}
    spec["trt_llm"]["build"]["checkpoint_repository"] = {
        "source": "HF",
        "repo": "org/gated",
        "revision": "main",
    }
    make_revision(
        config=make_config(team=cast.team, name="chat"), spec=spec, secret_names=[secret.name]
    )
    page = signed_in(cast.owner).get(f"/secrets/{secret.id}/").content.decode()
    assert 'value="org/gated@main"' in page
    assert ">chat</a>" in page


def test_owner_and_member_test_and_an_outsider_learns_nothing(cast: Cast, secret: Secret) -> None:
    for user in (cast.owner, cast.member):
        page = signed_in(user)
        answer = page.post(f"/secrets/{secret.id}/test/", {"target": f"org/{user.id}"})
        assert (answer.status_code, answer["Location"]) == (302, f"/secrets/{secret.id}/")
        assert client_of(user).get("/v1/secrets/hf_access_token/tests")[0] == 200
    test = SecretTest.objects.first()
    assert test is not None
    outsider, page = client_of(cast.outsider), signed_in(cast.outsider)
    paths = ("tests", f"tests/{test.id}")
    assert [outsider.get(f"/v1/secrets/hf_access_token/{path}")[0] for path in paths] == [404, 404]
    assert outsider.post("/v1/secrets/hf_access_token/test", {"target": "a/b"})[0] == 404
    assert outsider.patch("/v1/secrets/hf_access_token", {"expires_at": None})[0] == 404
    assert page.get(f"/secrets/{secret.id}/").status_code == 404
    for act in ("test", "expiry"):
        assert page.post(f"/secrets/{secret.id}/{act}/", {"target": "a/b"}).status_code == 404
    assert RestClient(None).post("/v1/secrets/hf_access_token/test", {"target": "a/b"})[0] == 401
    assert Client().get(f"/secrets/{secret.id}/").status_code == 302
    assert SecretTest.objects.count() == 2
