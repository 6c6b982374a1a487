"""`manage.py import_command` and `manage.py export_command`: output, notes and exit codes."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command

LINE = "vllm serve a/b --quantization fp8 --port 1 --api-key sk-0123456789abcdef\n"


def _run(name: str, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=err)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def _import(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return _run("import_command")


def test_a_command_on_standard_input_becomes_yaml_and_notes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status, out, err = _import(monkeypatch, LINE)
    assert status == 0
    assert out.startswith("trt_llm:\n")
    assert "--port 1: " in err
    assert "now: fp8; or: fp8_kv" in err
    assert "vllm_api_key" in err
    assert "0123456789" not in out + err


def test_what_is_no_command_is_one_sentence_and_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = _import(monkeypatch, "ls")
    assert (status, out) == (1, "")
    assert err.startswith("This is not a `vllm serve`")


def test_an_imported_config_is_written_as_a_command_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(_import(monkeypatch, LINE)[1])
    status, out, err = _run("export_command", str(path), "--format", "vllm")
    assert (status, out) == (0, "vllm serve a/b \\\n  --quantization fp8\n")
    status, out, err = _run("export_command", str(path), "--format", "trtllm")
    assert "trtllm-serve a/b" in out
    assert "quantization_type" in err


def test_a_file_that_is_no_config_exits_2_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("trt_llm:\n  build:\n    max_seq_len: -1\n")
    status, out, err = _run("export_command", str(path))
    assert (status, out) == (2, "")
    assert f"{path}:3:5: error EH005" in err
    assert _run("export_command", str(tmp_path / "none"))[0] == 2
