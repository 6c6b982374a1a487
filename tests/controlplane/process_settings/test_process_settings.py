"""How settings are read, and what is said of those that are wrong."""

from pathlib import Path

import pytest

from controlplane.process_settings.control_plane import ControlPlaneSettings
from controlplane.process_settings.wrong import WrongSetting
from workers.agent.settings import read_settings as read_agent_settings

PASSWORD = "a-password"


def test_an_empty_variable_is_as_one_that_is_not_set(tmp_path: Path) -> None:
    given = {"DATA_DIR": str(tmp_path), "HF_ENDPOINT": " ", "ALLOWED_HOSTS": "", "DEBUG": ""}
    settings = ControlPlaneSettings.read(given)
    assert settings == ControlPlaneSettings.read({"DATA_DIR": str(tmp_path)})
    assert settings.hf_endpoint == "https://huggingface.co"


def test_what_is_not_set_follows_from_what_is(tmp_path: Path) -> None:
    given = {"DATA_DIR": str(tmp_path), "PUBLIC_URL": "https://eh.example/"}
    settings = ControlPlaneSettings.read(given)
    assert settings.control_plane_url == "https://eh.example"
    assert settings.artifact_url == (tmp_path / "artifacts").as_uri()
    assert settings.local_checkpoint_roots == [str(tmp_path / "checkpoints")]


def test_lists_are_read_by_their_separators() -> None:
    given = {"OIDC_DOMAINS": "Example.org, ,b.example", "LOCAL_CHECKPOINT_ROOTS": "/a:/b"}
    settings = ControlPlaneSettings.read(given)
    assert settings.oidc_domains == ["example.org", "b.example"]
    assert settings.local_checkpoint_roots == ["/a", "/b"]


def test_all_that_is_wrong_is_said_at_once_each_with_its_variable_and_value() -> None:
    given = {"LOG_LEVEL": "loud", "API_REQUESTS_PER_MINUTE": "-1", "HF_ENDPOINT": "hub"}
    with pytest.raises(WrongSetting) as wrong:
        ControlPlaneSettings.read(given)
    assert set(str(wrong.value).splitlines()) == {
        "LOG_LEVEL: `loud` is not one of `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`.",
        "API_REQUESTS_PER_MINUTE: `-1` is below 0.",
        "HF_ENDPOINT: `hub` is not one of `http://`, `https://`.",
    }


@pytest.mark.parametrize("name", ["PUBLIC_URL", "DATA_DIR"])
def test_of_what_follows_from_a_wrong_one_nothing_is_said(name: str) -> None:
    with pytest.raises(WrongSetting) as wrong:
        ControlPlaneSettings.read({name: "~nobody-of-that-name/x"})
    assert [line.partition(":")[0] for line in str(wrong.value).splitlines()] == [name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", PASSWORD),
        ("DATABASE_URL", f"mysql://eh:{PASSWORD}@db/eh"),
        ("DATABASE_URL", f"postgresql://eh:{PASSWORD}@db/eh?no_such_option={PASSWORD}"),
        ("ARTIFACT_URL", f"s3://key:{PASSWORD}@bucket"),
    ],
)
def test_a_secret_is_in_no_error(name: str, value: str) -> None:
    with pytest.raises(WrongSetting, match=name) as wrong:
        ControlPlaneSettings.read({name: value})
    assert PASSWORD not in str(wrong.value)
    assert wrong.value.__cause__ is None


def test_a_secret_may_lie_in_a_file_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "broker").write_text(f"redis://:{PASSWORD}@broker:6379/0\n")
    given = {"DATA_DIR": str(tmp_path), "BROKER_URL_FILE": str(tmp_path / "broker")}
    for settings in (ControlPlaneSettings.read(given), read_agent_settings(given)):
        assert settings.broker_url == f"redis://:{PASSWORD}@broker:6379/0"
        assert PASSWORD not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ENGINE_PORTS", "80-90", "`80-90` is no range of ports"),
        ("ENGINE_DRAIN_SECONDS", "soon", "`soon` is not a whole number"),
        ("AGENT_STOP_ENGINES_ON_EXIT", "perhaps", "`perhaps` is neither true nor false"),
        ("BROKER_URL_FILE", "/does/not/exist", "`/does/not/exist` cannot be read"),
    ],
)
def test_an_agent_is_told_what_is_wrong_with_its_settings(
    name: str, value: str, words: str
) -> None:
    with pytest.raises(WrongSetting, match=f"{name}: {words}"):
        read_agent_settings({name: value})
