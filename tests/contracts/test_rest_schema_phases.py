"""Every phase of schemathesis, to its end, against the web application, in each role."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.servers.basehttp import WSGIRequestHandler
from drf_spectacular.generators import SchemaGenerator

from tests.factories import make_api_key, make_cast

pytestmark = pytest.mark.long
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "use_after_free",
)
PHASES = ("examples", "coverage", "fuzzing", "stateful")
EXAMPLES = 60


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "openapi.json"
    document = SchemaGenerator().get_schema(request=None, public=True)
    file.write_text(json.dumps(document, default=str))
    return file


@pytest.mark.timeout(0)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", ["member", "owner", "organisation_admin"])
def test_all_phases_find_no_failure_of_ours_and_nothing_undocumented(
    who: str,
    document: Path,
    live_server: Any,
    broker: str,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It writes head and body apart: else each of the thousands of answers waits 40 ms for an
    # acknowledgement.
    monkeypatch.setattr(WSGIRequestHandler, "disable_nagle_algorithm", True)
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    settings.API_REQUESTS_PER_MINUTE = 0
    key = make_api_key(user=getattr(make_cast(), who), type="PERSONAL")

    code, report = _run(document, live_server.url, key)

    assert code == 0, report[-20_000:]
    for phase in PHASES:
        assert f"✅ {phase.title()}" in report, report[-3000:]


def _run(document: Path, url: str, key: str) -> tuple[int, str]:
    """Return the exit code and the report."""
    report = document.with_name("report.txt")
    with report.open("wb") as output:
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", url),
                *("--header", f"Authorization: Bearer {key}", "--checks", ",".join(CHECKS)),
                *("--phases", ",".join(PHASES), "--max-examples", str(EXAMPLES)),
                *("--generation-deterministic", "--no-shrink", "--request-timeout", "60"),
                *("--continue-on-failure", "--suppress-health-check", "all", "--no-color"),
            ],
            cwd=document.parent,
            stdout=output,
            stderr=output,
            check=False,
        )
    return ended.returncode, report.read_text(errors="replace")
