"""Consents to sampling: given, told to gateways, replayed by them, taken back; whose they are."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import AuditEntry
from apps.configs.lookahead_tunings.leasing import TUNING
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.models import Config, HeldSamples, TrafficConsent
from apps.configs.services.configs import config_create
from apps.deployments.models import ServedModel
from apps.fleet.models import Gateway
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from apps.routes.rows import routes_rows
from controlplane import clock
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, config_text, make_cast, make_device, make_model
from tests.factories_serving import make_gateway

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
PATH = "/v1/traffic_samples"
WANTED = {"share": 0.01, "kept_days": 7}


@pytest.fixture
def cast() -> Cast:
    make_device()
    return make_cast()


@pytest.fixture
def model(cast: Cast) -> ServedModel:
    return make_model(team=cast.team, name="editor")


@pytest.fixture
def config(cast: Cast) -> Config:
    return config_create(team=cast.team, name="tiny", text=config_text("/checkpoints/tiny"))


@pytest.fixture
def gateway() -> Gateway:
    return make_gateway(name="gateway-1")


def consent(cast: Cast) -> TrafficConsent:
    status, report = client_of(cast.owner).post(PATH, WANTED)
    assert status == 200, report
    return TrafficConsent.objects.get(team=cast.team)


def says(gateway: Gateway, *samples: Mapping[str, Any], **figures: Any) -> list[Any]:
    """What a gateway is ordered that says this."""
    answer = Client().post(
        "/internal/v1/gateways/samples",
        {"samples": samples, "figures": figures},
        content_type="application/json",
        headers={"authorization": f"Bearer {gateway.name}"},
    )
    assert answer.status_code == 200, answer.content
    orders: list[Any] = answer.json()["orders"]
    return orders


def held(given: TrafficConsent, model: ServedModel, samples: int = 5) -> dict[str, Any]:
    return {
        "consent_id": given.id, "model_id": model.id, "samples": samples, "size_bytes": 900,
        "oldest_at": clock.now().timestamp(),
    }  # fmt: skip


def found(order: Mapping[str, Any], answers: int = 4) -> dict[str, Any]:
    """What a gateway says in whose samples every setting gets whole drafts right."""
    counted = [_counted(each, answers) for each in order["settings"]]
    return {"answers": answers, "prompt_tokens": 90, "answer_tokens": 80, "counted": counted}


def _counted(setting: Mapping[str, Any], answers: int) -> dict[str, Any]:
    longest = setting["longest_draft_tokens"]
    return {
        "setting": setting, "tokens": answers * (1 + longest), "steps": answers,
        "drafted_steps": answers if longest else 0, "drafted_tokens": answers * longest,
        "accepted_at": [answers] * longest,
    }  # fmt: skip


def asks(cast: Cast, config: Config, model: ServedModel) -> tuple[int, Any]:
    body = {"config_id": config.id, "dataset": f"traffic/{model.id}"}
    return client_of(cast.member).post("/v1/lookahead_tunings", body)


def sampling_of(model: ServedModel) -> Any:
    return routes_rows()["models"][model.id].get("sampling")


def test_nothing_is_sampled_until_an_admin_consents_and_gateways_hear_of_it(
    cast: Cast, model: ServedModel
) -> None:
    assert client_of(cast.member).get(PATH)[1]["share"] == 0
    assert sampling_of(model) is None
    assert client_of(cast.member).post(PATH, WANTED)[0] == 403
    given = consent(cast)
    assert sampling_of(model) == {"id": given.id, "share": 0.01, "kept_seconds": 604_800}
    report = client_of(cast.member).get(PATH)[1]
    assert (report["consented_by"], report["share"], report["kept_days"]) == (
        cast.owner.email,
        0.01,
        7,
    )
    entry = AuditEntry.objects.get(action="traffic_samples.consent")
    assert (entry.team_id, entry.after) == (cast.team.id, WANTED)


@pytest.mark.parametrize(
    "body", [{"share": 0}, {"share": 1.1}, {"kept_days": 0}, {"kept_days": 91}]
)
def test_a_consent_to_nothing_or_for_ever_is_refused(cast: Cast, body: dict[str, Any]) -> None:
    assert client_of(cast.owner).post(PATH, {**WANTED, **body})[0] == 400
    assert not TrafficConsent.objects.exists()


def test_another_teams_model_is_not_sampled_and_its_samples_are_nobodys(
    cast: Cast, model: ServedModel, gateway: Gateway, config: Config
) -> None:
    given = consent(cast)
    foreign = make_model(team=cast.outsider.team)
    assert sampling_of(foreign) is None
    says(gateway, held(given, model), held(given, foreign))
    assert [each["name"] for each in client_of(cast.member).get(PATH)[1]["models"]] == ["editor"]
    assert client_of(cast.outsider).get(PATH)[1]["models"] == []
    assert asks(cast, config, foreign)[1]["code"] == "samples_unknown"


def test_gateways_replay_what_they_hold_and_their_figures_are_one_recommendation(
    cast: Cast, model: ServedModel, config: Config, gateway: Gateway
) -> None:
    given, other = consent(cast), make_gateway(name="gateway-2")
    assert [says(each, held(given, model)) for each in (gateway, other)] == [[], []]
    status, report = asks(cast, config, model)
    assert status == 202, report
    assert lease_claim(kind=TUNING, id=report["id"]) is None
    (order,) = says(gateway, held(given, model))
    assert (order["consent_id"], order["model_id"]) == (given.id, model.id)
    assert says(gateway, held(given, model), **{order["tuning_id"]: found(order)}) == []
    assert LookaheadTuning.objects.get(id=report["id"]).progress_done == 1
    says(other, held(given, model), **{order["tuning_id"]: found(order, answers=6)})
    result = client_of(cast.member).get(f"/v1/lookahead_tunings/{report['id']}")[1]
    assert (result["state"], result["result"]["answers"]) == ("finished", 10)
    assert result["result"]["recommended"]["changes"]
    assert client_of(cast.member).post(f"/v1/lookahead_tunings/{report['id']}/apply")[0] == 201


def test_a_gateway_that_went_away_is_not_waited_for_and_one_that_found_nothing_says_why(
    cast: Cast, model: ServedModel, config: Config, gateway: Gateway
) -> None:
    given, other = consent(cast), make_gateway(name="gateway-2")
    for each in (gateway, other):
        says(each, held(given, model))
    tuning = LookaheadTuning.objects.get(id=asks(cast, config, model)[1]["id"])
    says(gateway, held(given, model), **{tuning.id: {"failure": "no_numba"}})
    leases_sweep(TUNING)
    tuning.refresh_from_db()
    assert tuning.is_open
    Gateway.objects.filter(id=other.id).update(last_seen_at=clock.now() - timedelta(minutes=5))
    leases_sweep(TUNING)
    tuning.refresh_from_db()
    assert (tuning.state, tuning.failure["code"]) == ("failed", "EHC-SAMPLES-UNCOMPILED")


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"counted": []}, "EHC-SAMPLES-UNTOLD"), ({"answers": 0}, "EHC-SAMPLES-EMPTY")],
)
def test_figures_that_say_nothing_end_the_tuning_with_the_reason(
    cast: Cast, model: ServedModel, config: Config, gateway: Gateway,
    changes: dict[str, Any], code: str,
) -> None:  # fmt: skip
    given = consent(cast)
    says(gateway, held(given, model))
    tuning_id = asks(cast, config, model)[1]["id"]
    (order,) = says(gateway, held(given, model))
    says(gateway, held(given, model), **{tuning_id: {**found(order), **changes}})
    assert LookaheadTuning.objects.get(id=tuning_id).failure["code"] == code


def test_a_consent_that_is_taken_back_leaves_no_samples_and_ends_what_waits_for_them(
    cast: Cast, model: ServedModel, config: Config, gateway: Gateway
) -> None:
    given = consent(cast)
    says(gateway, held(given, model))
    tuning = LookaheadTuning.objects.get(id=asks(cast, config, model)[1]["id"])
    assert client_of(cast.member).delete(PATH)[0] == 403
    assert client_of(cast.owner).delete(PATH)[0] == 204
    assert sampling_of(model) is None
    assert not HeldSamples.objects.exists()
    assert says(gateway, held(given, model)) == []
    leases_sweep(TUNING)
    tuning.refresh_from_db()
    assert tuning.failure["code"] == "EHC-SAMPLES-REVOKED"
    assert client_of(cast.owner).delete(PATH)[0] == 409
    assert AuditEntry.objects.filter(action="traffic_samples.revoke").count() == 1


def test_deleted_samples_are_under_an_id_that_no_gateway_keeps(
    cast: Cast, model: ServedModel, gateway: Gateway
) -> None:
    given = consent(cast)
    says(gateway, held(given, model))
    assert client_of(cast.owner).delete(f"{PATH}/held")[0] == 204
    again = TrafficConsent.objects.get(team=cast.team)
    assert (again.id != given.id, again.created_at) == (True, given.created_at)
    assert sampling_of(model)["id"] == again.id
    assert not HeldSamples.objects.exists()


def test_a_cancelled_tuning_is_no_longer_ordered(
    cast: Cast, model: ServedModel, config: Config, gateway: Gateway
) -> None:
    given = consent(cast)
    says(gateway, held(given, model))
    tuning_id = asks(cast, config, model)[1]["id"]
    assert client_of(cast.member).post(f"/v1/lookahead_tunings/{tuning_id}/cancel")[0] == 200
    assert says(gateway, held(given, model)) == []


def test_the_page_says_who_consented_and_offers_the_samples_to_a_tuning(
    cast: Cast, model: ServedModel, config: Config, gateway: Gateway
) -> None:
    admin, page = signed_in(cast.owner), "/traffic-samples/"
    assert "Nothing of the team’s traffic is kept." in admin.get(page).content.decode()
    admin.post(f"{page}consent/", {"percent": "2.5", "kept_days": "3"})
    given = TrafficConsent.objects.get(team=cast.team)
    assert (given.share, given.kept_days, given.created_by) == (0.025, 3, cast.owner)
    says(gateway, held(given, model, samples=234))
    shown = admin.get(page).content.decode()
    assert cast.owner.email in shown
    assert ">234</td>" in shown
    assert f"traffic/{model.id}" in admin.get("/lookahead-tunings/").content.decode()
    admin.post(f"{page}delete/")
    assert not HeldSamples.objects.exists()
    admin.post(f"{page}revoke/")
    assert not TrafficConsent.objects.exists()
