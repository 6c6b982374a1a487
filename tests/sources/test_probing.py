"""Whether a secret opens a repository, a bucket or an address, in words without its value."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from controlplane.domain.secret_tests import ProbeAnswer, ProbeKind
from controlplane.sources import SourceOptions
from controlplane.sources.probing import probe
from tests.bucket_server import BucketServer
from tests.hub_server import HubServer
from tests.loopback_server import nobody_listens

TOKEN = "hf_goodCanaryToken"
SCHEMES = {"S3": "s3", "GCS": "gs", "AZURE": "az"}


def ask(
    options: SourceOptions, target: str, value: str = TOKEN, kind: ProbeKind = ProbeKind.HUB
) -> ProbeAnswer:
    answer = probe(kind, target, secret_name="team_token", value=value, options=options)
    assert value not in f"{answer}"
    return answer


def test_a_token_reads_a_gated_repository_or_is_told_why_not(
    hub: HubServer, options: SourceOptions, tiny: Path
) -> None:
    hub.tokens |= {TOKEN, "hf_another"}
    commit = hub.add("org/gated", tiny, gated=True, readers={TOKEN})
    works = ask(options, "org/gated")
    assert works.works
    assert f"`team_token` reads `org/gated`: 6 files at commit `{commit[:12]}`." in works.sentence
    assert not works.hint
    refused = ask(options, "org/gated", "hf_another")
    assert not refused.works
    assert "the owner of the token in secret `team_token` has not been given access" in (
        refused.sentence
    )
    assert "Ask for access at" in refused.hint
    unknown = ask(options, "org/gated", "hf_unknown")
    assert not unknown.works
    assert "team_token" in unknown.sentence


def test_a_public_repository_and_one_that_is_no_checkpoint_are_said(
    hub: HubServer, options: SourceOptions
) -> None:
    hub.tokens.add(TOKEN)
    hub.add("org/data", {"rows.csv": b"a,b"})
    answer = ask(options, "org/data")
    assert answer.works
    assert answer.hint == "The repository is public: it is read without a token too."
    assert not ask(options, "org/absent").works
    assert not ask(options, "org/data@nowhere").works


def test_a_hub_that_is_away_is_said(options: SourceOptions) -> None:
    with nobody_listens() as place:
        away = replace(options, hf_endpoint=f"http://{place}", attempts=1)
        answer = ask(away, "org/data")
    assert not answer.works
    assert "cannot be reached" in answer.sentence


@pytest.mark.parametrize("source", ["S3", "GCS", "AZURE"])
def test_a_key_lists_a_bucket_or_is_told_why_not(source: str, options: SourceOptions) -> None:
    with BucketServer(source) as server:
        server.put("weights", "llama/config.json", b"{}")
        there = replace(
            options,
            s3_endpoint=server.endpoint,
            gcs_endpoint=server.endpoint,
            azure_endpoint=server.endpoint,
        )
        kind, scheme = ProbeKind(source.lower()), SCHEMES[source]
        works = ask(there, f"{scheme}://weights/llama", server.secret, kind)
        assert works.works, works
        assert "1 objects, the first is `config.json`" in works.sentence
        empty = ask(there, f"{scheme}://weights/nothing", server.secret, kind)
        assert not empty.works
        missing = ask(there, f"{scheme}://absent-bucket", server.secret, kind)
        assert not missing.works
        wrong = ask(there, f"{scheme}://weights", json.dumps({"a": "no login"}), kind)
        assert not wrong.works
        assert "team_token" in wrong.sentence
        assert wrong.hint


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        status = int(self.path.strip("/")) if is_known else 401
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "https://elsewhere.example/file?token=abc")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("status", "works", "words"),
    [
        (200, True, "it may fetch this address"),
        (302, True, "leads on to `elsewhere.example`, where the token was not sent"),
        (403, False, "refuses this address"),
        (404, False, "nothing for this token"),
        (503, False, "says nothing of the token"),
    ],
)
def test_a_token_fetches_an_address_or_is_told_why_not(
    address: str, options: SourceOptions, status: int, works: bool, words: str
) -> None:
    near = replace(options, allow_private_addresses=True)
    answer = ask(near, f"{address}/{status}", kind=ProbeKind.URL)
    assert (answer.works, words in answer.sentence) == (works, True), answer


@pytest.mark.parametrize("kind", [ProbeKind.HUB, ProbeKind.URL])
def test_a_value_that_is_no_token_is_said_and_sent_nowhere(
    hub: HubServer, options: SourceOptions, tiny: Path, kind: ProbeKind
) -> None:
    hub.add("org/tiny", tiny)
    target = "org/tiny" if kind is ProbeKind.HUB else "https://example.com/tiny.tar"
    answer = ask(options, target, "hf_gehe\u00efm", kind)
    assert not answer.works
    assert "`team_token` holds no token" in answer.sentence


def test_a_wrong_token_and_a_private_address_are_refused(
    address: str, options: SourceOptions
) -> None:
    near = replace(options, allow_private_addresses=True)
    wrong = ask(near, f"{address}/200", "another-token", ProbeKind.URL)
    assert not wrong.works
    assert "does not know the token" in wrong.sentence
    private = ask(options, f"{address}/200", kind=ProbeKind.URL)
    assert not private.works
