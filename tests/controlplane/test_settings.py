"""What the settings say of a wrong variable, read as every process of the product reads them.

That it stops a start is said by `processes/test_up.py`.
"""

import runpy
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane import settings

FILE = settings.__file__


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "ARTIFACT_URL",
            "s3://key:secret@bucket/artifacts",
            "`s3://bucket/artifacts` does not name",
        ),
        ("PUBLIC_URL", "example.org", "`example.org` is not one of"),
        ("DEBUG", "maybe", "`maybe` is neither true nor false"),
        ("ENGINE_CPU_THREADS", "-2", "`-2` is below 0"),
        ("SECRET_KEY_FILE", "/does/not/exist", "cannot be read"),
        ("SECRET_KEY", "short", "shorter than 32 characters"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as raised:
        runpy.run_path(FILE)
    text = str(raised.value)
    assert text.startswith(f"{name}: ")
    assert words in text
    assert "key:secret" not in text
