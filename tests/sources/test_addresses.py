"""Where a user's URL may lead, redirects and names that resolve to private addresses included."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.failures import Failure
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import SourceFailure, SourceOptions, resolve
from controlplane.sources.addresses import targets
from tests.archive_server import ArchiveServer, packed
from tests.certificates import self_signed
from tests.loopback_server import nobody_listens

PATH = "/llama.tar.gz"


@pytest.fixture
def site(tiny: Path) -> Iterator[ArchiveServer]:
    with ArchiveServer() as server:
        server.files[PATH] = packed({path.name: path.read_bytes() for path in tiny.iterdir()})
        yield server


def options_of(tmp_path: Path, *, private: bool) -> SourceOptions:
    return SourceOptions(
        allow_private_addresses=private,
        cache_dir=tmp_path / "cache",
        timeout_seconds=60,
        attempts=1,
    )


def refusal(code: str, url: str, options: SourceOptions) -> Failure:
    record = CheckpointRepository.model_validate({"source": "REMOTE_URL", "repo": url})
    with pytest.raises(SourceFailure) as caught:
        resolve(record, token=None, options=options)
    assert caught.value.failure.code == code, caught.value.failure
    return caught.value.failure


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let every name resolve to the addresses; return the names that were looked up."""
    requests: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        requests.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return requests


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[ff02::1]",
        "localhost",
    ],
)
def test_no_form_of_a_private_address_is_asked(host: str) -> None:
    with pytest.raises(SourceFailure) as caught:
        targets(f"http://{host}:8080/x.tar", allow_private=False)
    assert caught.value.failure.code == "EUR-PRIVATE"
    assert "ALLOW_PRIVATE_ADDRESSES" in (caught.value.failure.hint or "")
    assert targets(f"http://{host}:8080/x.tar", allow_private=True)


def test_a_name_that_resolves_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolving_to(monkeypatch, "93.184.215.14", "10.0.0.5")
    with pytest.raises(SourceFailure) as caught:
        targets("https://weights.example.com/x.tar", allow_private=False)
    assert "`weights.example.com`" in caught.value.failure.sentence


def test_the_address_that_was_checked_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = resolving_to(monkeypatch, "93.184.215.14")
    (way,) = targets("https://weights.example.com/x.tar?a=b", allow_private=False)
    assert way.url == "https://93.184.215.14:443/x.tar?a=b"
    assert (way.host, way.server_name) == ("weights.example.com", "weights.example.com")
    assert request == ["weights.example.com"]


def test_a_proxy_of_the_operator_looks_names_up_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example.com:3128")
    monkeypatch.setenv("no_proxy", "inside.example.com")
    request = resolving_to(monkeypatch, "10.0.0.5")
    (way,) = targets("https://weights.example.com/x.tar", allow_private=False)
    assert way.url == "https://weights.example.com/x.tar"
    assert way.proxy == "http://proxy.example.com:3128"
    assert request == []
    for host in ("127.0.0.1", "localhost", "inside.example.com"):
        with pytest.raises(SourceFailure):
            targets(f"https://{host}/x.tar", allow_private=False)


def test_private_addresses_are_refused_unless_the_operator_allows_them(
    site: ArchiveServer, tmp_path: Path
) -> None:
    refusal("EUR-PRIVATE", site.url(PATH), options_of(tmp_path, private=False))
    assert site.requests == []
    record = CheckpointRepository.model_validate({"source": "REMOTE_URL", "repo": site.url(PATH)})
    assert resolve(record, token=None, options=options_of(tmp_path, private=True))


def test_a_redirect_to_a_private_address_is_refused(
    site: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.redirects["/public"] = "http://169.254.169.254/latest/meta-data/"
    real = targets

    def public_first(url: str, *, allow_private: bool) -> Any:
        # The loopback stands for a public server; what it leads on to is judged as always.
        return real(url, allow_private=allow_private or "/public" in url)

    monkeypatch.setattr("controlplane.sources.archive_http.targets", public_first)
    outcome = refusal("EUR-PRIVATE", site.url("/public"), options_of(tmp_path, private=False))
    assert "169.254.169.254" in outcome.sentence


def test_redirects_are_followed_so_far_and_to_http_only(
    site: ArchiveServer, tmp_path: Path
) -> None:
    options = options_of(tmp_path, private=True)
    for number in range(5):
        site.redirects[f"/{number}"] = f"/{number + 1}"
    site.redirects["/5"] = PATH
    record = CheckpointRepository.model_validate({"source": "REMOTE_URL", "repo": site.url("/1")})
    assert resolve(record, token=None, options=options)
    refusal("EUR-REDIRECT", site.url("/0"), options)
    for location in ("file:///etc/passwd", "ftp://127.0.0.1/x", "http://user:pw@127.0.0.1/"):
        site.redirects["/elsewhere"] = location
        refusal("EUR-REDIRECT", site.url("/elsewhere"), options)


def test_a_certificate_is_held_against_the_name_and_not_the_address(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path / "localhost.pem", "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    options = options_of(tmp_path, private=True)
    with ArchiveServer(certificate) as site:
        site.files[PATH] = packed({path.name: path.read_bytes() for path in tiny.iterdir()})
        url = site.url(PATH, host="localhost")
        record = CheckpointRepository.model_validate({"source": "REMOTE_URL", "repo": url})
        assert resolve(record, token=None, options=options)
        assert (site.requests[0].token or "").startswith("localhost:")
        refusal("EUR-OFFLINE", site.url(PATH), options)
        with nobody_listens() as away:
            site.redirects["/down"] = f"http://{away}/x.tar"
            refusal("EUR-REDIRECT", site.url("/down", host="localhost"), options)
