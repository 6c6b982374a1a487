"""Rendering of compose files without Docker: what it resolves, and what it refuses to guess."""

from pathlib import Path

import pytest

from tests import compose_files
from tests.compose_files import NotRendered, Published, read_env, services_of, variables_in

_FILE = """\
x-ours: &ours
  restart: unless-stopped
  environment: &environment
    URL: http://:${PASSWORD:?set it in .env}@${BIND:-127.0.0.1}:80/$$HOME
services:
  one:
    <<: *ours
    command: run --at "${BIND:-127.0.0.1}" now
    ports: ["${BIND:-127.0.0.1}:80:80"]
    volumes: [data:/data, "${FOLDER:-data}:/shared:ro"]
  two:
    <<: *ours
    environment: {<<: *environment, MORE: "${MORE:-}"}
    network_mode: host
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compose_files, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def file(root: Path) -> str:
    (root / "file.yml").write_text(_FILE)
    return "file.yml"


def test_variables_become_what_env_says_or_their_default(file: str) -> None:
    one, two = services_of(file, {"PASSWORD": "p", "FOLDER": "/srv", "BIND": "10.0.0.1"}).values()
    assert one.environment == {"URL": "http://:p@10.0.0.1:80/$HOME"}
    assert one.argv == ["run", "--at", "10.0.0.1", "now"]
    assert one.volumes == {"/data": "data", "/shared": "/srv"}
    assert one.published == [Published(address="10.0.0.1", port=80)]
    assert two.environment == {**one.environment, "MORE": ""}
    assert (one.uses_network_of_host, two.uses_network_of_host) == (False, True)
    assert (
        services_of(file, {"PASSWORD": "p", "BIND": ""})["one"].published[0].address == "127.0.0.1"
    )


def test_the_variables_of_a_file_are_those_that_it_takes_from_env(file: str) -> None:
    assert variables_in(file) == {"PASSWORD", "BIND", "FOLDER", "MORE"}


def test_a_variable_that_has_to_be_set_is_asked_for_in_the_words_of_the_file(file: str) -> None:
    with pytest.raises(NotRendered, match=r"PASSWORD: set it in \.env"):
        services_of(file, {"PASSWORD": ""})


@pytest.mark.parametrize("value", ["$NAME", "${NAME-x}", "${NAME:+x}", "${NAME:-${OTHER}}", "${1}"])
def test_a_form_that_our_files_do_not_use_is_refused(root: Path, value: str) -> None:
    (root / "other.yml").write_text(f"services: {{one: {{command: '{value}'}}}}")
    with pytest.raises(NotRendered, match="not understood"):
        services_of("other.yml", {})


def test_a_port_without_an_address_is_refused(root: Path) -> None:
    (root / "other.yml").write_text("services: {one: {ports: ['80:80']}}")
    with pytest.raises(NotRendered, match="80:80"):
        services_of("other.yml", {})


def test_env_files_have_comments_and_values_with_equal_signs() -> None:
    assert read_env("# a comment\nA=1\n\nB=x=y\nC=\n") == {"A": "1", "B": "x=y", "C": ""}
