"""The support bundle: all that helps, streamed and capped, and no secret."""

import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import AsyncClient, Client

from apps.builds.failures.support_bundle import LARGEST_LOG_CHARACTERS, bundle_chunks
from apps.builds.models import Build
from apps.telemetry.logs import log_append
from controlplane.domain.lifecycle import BuildState
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast
from tests.folded import folded

if TYPE_CHECKING:
    from apps.configs.models import Revision

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a9c-of-a-vault"
TOKEN = "hf_" + "C4nary" * 6


def opened(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def download(client: Client, build: Build) -> dict[str, str]:
    answer = client.get(f"/builds/{build.number}/support-bundle/")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/zip"
    assert f"build-{build.number}-{build.id}.zip" in answer.headers["Content-Disposition"]
    return opened(answer.getvalue())


@pytest.fixture
def failed(revision: "Revision") -> Build:
    failure = {
        "code": "EHB-CRASHED",
        "blame": "ours",
        "sentence": "Step `fetch` ended with status 3.",
        "hint": None,
        "field": None,
        "fix": None,
        "detail": f"token {TOKEN}",
    }
    build: Build = factories.make_build(
        revision=revision, state=BuildState.FAILED, failure=failure, attempt=2
    )
    for attempt in (1, 2):
        log_append(
            owner=f"build:{build.id}:fetch",
            attempt=attempt,
            sequence=0,
            text=f"attempt {attempt}\nAuthorization: Bearer {TOKEN}\n",
        )
    return build


def test_the_bundle_holds_config_checks_steps_logs_versions_and_machines(
    failed: Build, cast: Cast
) -> None:
    files = download(signed_in(cast.owner), failed)
    assert files["config.yaml"] == failed.revision.text
    build = json.loads(files["build.json"])
    assert build["failure"]["code"] == "EHB-CRASHED"
    assert [step["name"] for step in build["steps"]][:2] == ["fetch", "inspect"]
    assert json.loads(files["checks.json"])["findings"] == failed.revision.findings
    assert json.loads(files["versions.json"])["django"]
    assert json.loads(files["machines.json"])[0]["devices"][0]["kind"] == "CPU"
    assert "attempt 1" in files["logs/1-0-fetch.log"]
    assert "attempt 2" in files["logs/2-0-fetch.log"]
    assert "secrets" in files["README.txt"]


def test_nothing_secret_and_no_environment_is_in_the_bundle(
    failed: Build, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.secrets.services.values import secret_set

    secret_set(team=cast.team, name="hf_access_token", value=CANARY)
    text = f"the template says {CANARY}"
    log_append(owner=f"build:{failed.id}:fetch", attempt=2, sequence=9, text=text)
    monkeypatch.setenv("OF_THE_ENVIRONMENT", CANARY)
    whole = "\n".join(download(signed_in(cast.owner), failed).values())
    for hidden in (TOKEN, CANARY, "OF_THE_ENVIRONMENT", settings.SECRET_KEY):
        assert hidden not in whole
    assert "[redacted]" in whole


def test_what_the_engine_printed_of_a_secret_never_gets_as_far_as_the_bundle(
    revision: "Revision", cast: Cast, tmp_path: Path
) -> None:
    from apps.builds.services.claims import build_claim
    from apps.builds.services.progress import step_log
    from workers.build_steps.child import StepCommand, Verdict, run_step

    build = factories.make_build(revision=revision)
    lease = build_claim(build_id=build.id, owner="test")
    assert lease is not None
    engine = tmp_path / "python"
    engine.write_text(f"#!/bin/sh\necho 'the key is {CANARY}, thanks'\nexit 3\n")
    engine.chmod(0o755)
    printed: list[bytes] = []
    outcome = run_step(
        StepCommand(
            step="fetch",
            job_path=tmp_path / "none.json",
            lease=lease.marker,
            instance=str(tmp_path),
            secrets={"vault_key": CANARY},
            python=str(engine),
        ),
        on_progress=lambda progress: None,
        on_log=printed.append,
        heartbeat=lambda: Verdict.CONTINUE,
    )
    step_log(lease=lease, step="fetch", sequence=0, text=b"".join(printed).decode())
    assert outcome.failure is not None
    Build.objects.filter(id=build.id).update(
        state=BuildState.FAILED, failure=outcome.failure.to_json()
    )
    files = download(signed_in(cast.owner), build)
    assert "the key is [redacted], thanks" in files["logs/1-0-fetch.log"]
    assert "the key is [redacted], thanks" in files["build.json"]
    assert CANARY not in "\n".join(files.values())


def test_a_log_without_end_is_cut_to_its_end_and_made_piece_by_piece(failed: Build) -> None:
    for sequence in range(12):
        text = "".join(f"{sequence}:{line} {'x' * 900}\n" for line in range(100))
        log_append(owner=f"build:{failed.id}:inspect", attempt=2, sequence=sequence, text=text)
    pieces = list(bundle_chunks(failed))
    log = opened(b"".join(pieces))["logs/2-1-inspect.log"]
    assert len(log) <= LARGEST_LOG_CHARACTERS + 100
    assert log.startswith("[earlier lines are left out]")
    assert log.endswith("x" * 900)
    assert len(pieces) > 8


def test_the_server_streams_the_bundle_without_holding_up_its_loop(
    failed: Build, cast: Cast
) -> None:
    async def streamed() -> bytes:
        browser = AsyncClient()
        await browser.aforce_login(cast.owner)
        answer = await browser.get(f"/builds/{failed.number}/support-bundle/")
        return b"".join([chunk async for chunk in answer.streaming_content])

    assert "build.json" in opened(async_to_sync(streamed)())


def test_the_bundle_is_offered_on_the_page_and_over_rest_to_the_team_alone(
    failed: Build, cast: Cast
) -> None:
    page = folded(signed_in(cast.owner).get(f"/builds/{failed.number}/").content.decode())
    assert f'href="/builds/{failed.number}/support-bundle/"' in page
    assert "Values of secrets and environment variables are not in it." in page
    status, content = client_of(cast.owner).download(f"/v1/builds/{failed.id}/support_bundle")
    assert status == 200
    assert "config.yaml" in opened(content)
    outsider = signed_in(cast.outsider)
    assert outsider.get(f"/builds/{failed.number}/support-bundle/").status_code == 404
    assert client_of(cast.outsider).get(f"/v1/builds/{failed.id}/support_bundle")[0] == 404
