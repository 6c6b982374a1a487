"""The examples of `docs/rest.md` run as they stand, against a real server."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.configs.models import Config
from apps.secrets.models import Secret
from tests.debian_parts import program
from tests.factories import make_api_key, make_team
from tests.waiting import DEADLINE_SECONDS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "rest.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)


@pytest.mark.django_db(transaction=True)
def test_every_curl_example_succeeds(
    live_server: Any, broker: str, settings: Settings, tmp_path: Path
) -> None:
    program("curl")
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    team = make_team()
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks("sh"))],
        cwd=tmp_path,
        env=os.environ
        | {"ENGINEHOUSE_URL": live_server.url, "ENGINEHOUSE_API_KEY": make_api_key(team=team)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert Config.objects.get(team=team).revisions.count() == 2
    assert Secret.objects.get(team=team).name == "example_token"


def test_the_error_shown_is_one_that_is_answered() -> None:
    (body,) = map(json.loads, blocks("json"))
    assert set(body) == {"code", "message", "fields", "hint", "source"}
