"""`manage.py plan_memory`: its stable JSON, its text and its exit statuses."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.domain.facts.test_checkpoints import LLAMA

LLAMA_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16",
    "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14_336, "vocab_size": 128_256,
    "max_position_embeddings": 131_072, "tie_word_embeddings": False,
}  # fmt: skip
CONFIG = """\
resources: {accelerator: H100}
trt_llm:
  build:
    checkpoint_repository: {source: HF, repo: owner/model}
    max_seq_len: 8192
"""


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        call_command("plan_memory", *arguments)
    output = capsys.readouterr()
    return int(stopped.value.code or 0), output.out, output.err


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Paths of a config and of a checkpoint's `config.json`."""
    config, facts = tmp_path / "config.yaml", tmp_path / "config.json"
    config.write_text(CONFIG)
    facts.write_text(json.dumps(LLAMA_8B))
    return str(config), str(facts)


def test_the_json_form_is_stable(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = _run(capsys, files[0], "--facts", files[1], "--format", "json")
    content = json.loads(out)
    assert status == 0
    assert content["model"] == {
        "architecture": "LlamaForCausalLM", "parameters": 8_030_261_248,
        "weight_bytes": 16_060_522_496, "kv_bytes_per_token": 131_072,
    }  # fmt: skip
    assert set(content["per_gpu"]) == {
        "device_bytes", "weights_bytes", "kv_cache_bytes", "activations_bytes", "overhead_bytes",
        "free_bytes",
    }  # fmt: skip
    assert {"kv_tokens", "full_length_requests", "binding"} <= set(content["capacity"])
    assert {"builder", "changes", "engine", "advice", "estimates", "forecast"} <= set(content)


def test_the_text_form_says_what_fits_and_what_would_change_it(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = _run(capsys, files[0], "--facts", files[1], "--advise")
    assert status == 0
    assert "8.03 billion parameters" in out
    assert "Each of 1 x H100, 79.65 GiB:" in out
    assert "Quantize to fp8" in out
    assert "B200:1" in out
    assert out.rstrip().endswith("It fits.")


def test_another_device_can_be_planned_for_without_owning_it(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for request, memory_mib, devices in (
        ("L4:2", 23_034, 2), ("h100_40gb", 40 * 1024, 1), ("RTX_4090:2", 24 * 1024, 2),
        ("gb300:1", 277 * 1024, 1),
    ):  # fmt: skip
        _, out, _ = _run(
            capsys, files[0], "--facts", files[1], "--gpu", request, "--format", "json"
        )
        content = json.loads(out)
        assert content["per_gpu"]["device_bytes"] == memory_mib * 2**20
        assert content["capacity"]["devices"] == devices


def test_what_does_not_fit_exits_with_one(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = _run(capsys, files[0], "--facts", files[1], "--gpu", "T4")
    assert status == 1
    assert out.rstrip().endswith("It does not fit.")


def test_missing_facts_and_a_bad_config_exit_with_one(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = _run(capsys, files[0])
    assert (status, "--facts" in err) == (1, True)
    bad = tmp_path / "bad.yaml"
    bad.write_text(CONFIG.replace("max_seq_len: 8192", "max_seq_len: many"))
    status, out, _ = _run(capsys, str(bad), "--facts", files[1], "--format", "json")
    assert status == 1
    assert "max_seq_len" in json.loads(out)["error"]
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    status, _, err = _run(capsys, files[0], "--facts", str(empty))
    assert (status, "does not say" in err) == (1, True)


def test_what_cannot_be_read_exits_with_two(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = _run(capsys, files[0], "--facts", files[1], "--gpu", "H9000:1")
    assert (status, "no kind of GPU" in err) == (2, True)
    assert _run(capsys, files[0], "--facts", files[1], "--gpu", "H100:none")[0] == 2
    assert _run(capsys, str(tmp_path / "absent.yaml"))[0] == 2
    assert _run(capsys, files[0], "--facts", str(tmp_path / "absent.json"))[0] == 2
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1\n")
    assert _run(capsys, str(broken), "--facts", files[1])[0] == 2


def test_a_folder_gives_exact_bytes_and_tells_where_its_shape_disagrees(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    header = {"w": {"dtype": "BF16", "shape": [1024, 1024], "data_offsets": [0, 2 * 1024**2]}}
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + bytes(2 * 1024**2)
    )
    _, out, _ = _run(capsys, files[0], "--facts", str(folder), "--format", "json", "--gpu", "H100")
    content = json.loads(out)
    assert content["model"]["weight_bytes"] == 2 * 1024**2
    assert content["weights"]["source"] == "headers"
    assert content["weights"]["disagree"]
    assert content["weights"]["counted_bytes"] == 269_030_016
    _, out, _ = _run(capsys, files[0], "--facts", str(folder), "--gpu", "H100")
    assert "the files count" in out
