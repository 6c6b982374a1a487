"""What the installation runs with: told to admins of the organisation, secrets never."""

import json
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.db.migrations.recorder import MigrationRecorder

from apps.accounts.key_ring import key_ring_ensure, key_ring_rotate
from apps.dashboard.installation.effective import EffectiveSetting, effective_settings
from apps.fleet.models import Worker
from apps.fleet.services.workers import worker_arrived
from apps.telemetry.models import UsageJournal
from controlplane import clock
from controlplane.process_settings.reference import settings_by_group
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import make_api_key, make_artifact, make_cast, make_node
from tests.factories_serving import listened
from tests.folded import folded

pytestmark = pytest.mark.django_db
PASSWORD = "a-password-of-a-database"


def effective() -> dict[str, EffectiveSetting]:
    return {each.setting.name: each for _, group in effective_settings() for each in group}


def test_only_admins_of_the_organisation_see_the_settings() -> None:
    cast = make_cast()
    assert signed_in(cast.organisation_admin).get("/settings/").status_code == 200
    for user in (cast.owner, cast.member, cast.outsider):
        client = signed_in(user)
        assert client.get("/settings/").status_code == 403
        assert 'href="/settings/"' not in client.get("/builds/").content.decode()
    key = make_api_key(team=cast.team)
    refused = signed_in(cast.owner).get("/v1/settings", headers={"Authorization": f"Bearer {key}"})
    assert refused.status_code == 403


def test_no_secret_is_on_the_page_or_in_the_answer(
    monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://eh:{PASSWORD}@db/eh")
    settings.HF_ENDPOINT = f"https://someone:{PASSWORD}@hub.example/?token={PASSWORD}"
    client = signed_in(make_cast().organisation_admin)
    for path in ("/settings/", "/v1/settings"):
        text = client.get(path).content.decode()
        assert PASSWORD not in text
        assert settings.SECRET_KEY not in text
        assert "https://hub.example/" in text
    answer = client.get("/v1/settings").json()
    secrets = [each for each in answer["settings"] if each["is_secret"]]
    assert {each["value"] for each in secrets} == {None}
    shown = {each["name"]: each["shown"] for each in secrets}
    assert shown["DATABASE_URL"] == "set"
    assert shown["OIDC_CLIENT_SECRET"] == "not set"


def test_each_value_says_where_it_came_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: LazySettings
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "run").mkdir()
    note = {"public_url": "http://127.0.0.1:8123"}
    (tmp_path / "run" / "services.json").write_text(json.dumps(note))
    for name in ("PUBLIC_URL", "GATEWAY_URL", "LOG_MAX_BYTES", "SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("SECRET_KEY_FILE", "/run/secrets/key")
    effective_values = effective()
    assert effective_values["LOG_LEVEL"].source == "environment"
    assert effective_values["SECRET_KEY"].source == "file"
    assert effective_values["PUBLIC_URL"].source == "manage.py up"
    assert effective_values["LOG_MAX_BYTES"].source == "default"
    assert effective_values["LOG_MAX_BYTES"].shown == str(settings.LOG_MAX_BYTES)
    assert effective_values["ENGINE_PYTHON"].source == "each host"
    assert effective_values["ENGINE_PYTHON"].shown == "–"


def test_every_setting_of_the_documentation_is_on_the_page() -> None:
    page = signed_in(make_cast().organisation_admin).get("/settings/").content.decode()
    for group in settings_by_group():
        for setting in group.settings:
            assert f"<code>{setting.name}</code>" in page


def test_keys_processes_schema_and_storage_are_told_as_they_are(
    tmp_path: Path, settings: LazySettings
) -> None:
    settings.KEY_RING_FILE = tmp_path / "ring"
    key_ring_ensure(settings.KEY_RING_FILE)
    key_ring_rotate(settings.KEY_RING_FILE)
    worker_arrived(name="control@here", version="9.9.9")
    worker_arrived(name="build.default@there", version="9.9.9")
    late = clock.now() - timedelta(minutes=5)
    Worker.objects.filter(name="control@here").update(last_seen_at=late)
    listened()
    make_node(name="workbench", agent_version="0.1.0")
    cast = make_cast()
    for _ in range(2):
        make_artifact(team=cast.team, content_digest="sha256:same", size_bytes=1000)
    answer = signed_in(cast.organisation_admin).get("/v1/settings").json()
    assert answer["key_ring"]["keys"] == 2
    states = {each["name"]: each["state"] for each in answer["processes"]}
    assert states["control@here"] == "silent"
    assert states["build.default@there"] == "live"
    assert "workbench" in states
    assert answer["schema"]["missing"] == []
    assert answer["storage"]["artifacts_bytes"] == 1000


def test_what_is_wrong_with_keys_and_schema_stands_on_top(
    tmp_path: Path, settings: LazySettings
) -> None:
    settings.KEY_RING_FILE = tmp_path / "gone"
    MigrationRecorder.Migration.objects.filter(app="fleet", name="0001_first_release").delete()
    page = signed_in(make_cast().organisation_admin).get("/settings/").content.decode()
    assert "There is no key ring at" in page
    assert "lacks 1 migration of this release: fleet.0001_first_release" in folded(page)


def test_the_page_takes_the_committed_number_of_queries(
    settings: LazySettings, tmp_path: Path
) -> None:
    # That of other tests may be there or not, and with one the secrets are counted.
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    admin = make_cast().organisation_admin
    for number in range(5):
        worker_arrived(name=f"build.pool-{number}@here", version="1")
    client = signed_in(admin)
    assert queries_of(client, "/settings/") == committed_queries("settings")


def test_usage_that_was_set_aside_is_told_with_its_gateway_and_reason() -> None:
    client = signed_in(make_cast().organisation_admin)
    assert "Rejected usage records" not in client.get("/settings/").content.decode()
    for name, requests in (("gw-1", 1204), ("", 3)):
        UsageJournal.objects.create(
            journal=uuid4(), gateway_name=name, set_aside=requests,
            set_aside_reason="request <x>: at: no time", set_aside_at=clock.now(),
        )  # fmt: skip
    page = folded(client.get("/settings/").content.decode())
    assert '<td data-label="Gateway"><code>gw-1</code></td>' in page
    assert '<td data-label="Gateway">not named</td>' in page
    assert "request &lt;x&gt;: at: no time" in page
