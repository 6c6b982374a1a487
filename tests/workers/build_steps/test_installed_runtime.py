"""A smoke test starts a runtime that the host has, in a version that commands are written for."""

from pathlib import Path

import pytest

from workers.build_steps.failures import StepFailure
from workers.build_steps.installed_runtime import installed_runtime


def _python_with(version: str, folder: Path) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(("version", "known"), [("0.25.1", "0.25"), ("0.33.0", "0.33")])
def test_a_known_version_is_started(
    version: str, known: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_PYTHON", _python_with(version, tmp_path))
    _, outcome = installed_runtime("vllm", own_python="python")
    assert outcome.version == known


@pytest.mark.parametrize(
    ("runtime", "version"), [("vllm", "0.24.0"), ("vllm", "0.34.0"), ("trtllm", "1.1.0")]
)
def test_another_version_is_refused_with_those_that_are_known(
    runtime: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{runtime.upper()}_PYTHON", _python_with(version, tmp_path))
    with pytest.raises(StepFailure) as raised:
        installed_runtime(runtime, own_python="python")
    failure = raised.value.failure
    assert failure.code == "EHB-RUNTIME-VERSION"
    assert f"`{runtime}` {version.rsplit('.', 1)[0]}, which is not known" in failure.sentence
    assert ("0.33" if runtime == "vllm" else "1.2") in (failure.hint or "")


def test_a_host_without_the_runtime_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRTLLM_PYTHON", raising=False)
    with pytest.raises(StepFailure) as raised:
        installed_runtime("trtllm", own_python="python")
    assert raised.value.failure.code == "EHB-NO-RUNTIME"
