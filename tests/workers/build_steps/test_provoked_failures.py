"""Failures of the real libraries and the real kernel, provoked here, and what is made of them."""

import json
import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.failures import Blame, Failure
from tests.loopback_server import nobody_listens
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.provoking import explained
from tests.workers.build_steps.supervising import Supervisor, spec_of
from workers.build_steps.child import OutcomeKind
from workers.build_steps.crashes import told_apart
from workers.build_steps.oom_kills import oom_kills

Folder = Path
Change = Callable[[Folder], Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("provoked") / "whole")


def config(**changes: Any) -> Change:
    def change(folder: Folder) -> None:
        _edit(folder / "config.json", changes)

    return change


def without(*names: str) -> Change:
    def change(folder: Folder) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def written(name: str, content: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(content)


def cut(folder: Folder) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])


def one_shard_missing(folder: Folder) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def load(folder: Folder) -> None:
    from transformers import AutoModelForCausalLM

    AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False)


def pad(folder: Folder) -> None:
    _tokenizer(folder)(["a", "a longer one"], padding=True)


def chat(folder: Folder) -> None:
    _tokenizer(folder).apply_chat_template([{"role": "user", "content": "x"}], tokenize=False)


def ask_beyond_vocabulary(folder: Folder) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    AutoModelForCausalLM.from_pretrained(folder)(torch.tensor([[9999]]))


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n"
REMOTE_CODE = {"AutoConfig": "configuration_own.OwnConfig"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}

OF_CHECKPOINTS = [
    ("EHP-TRUNCATED", cut, load, "`org/m`"),
    ("EHP-POINTER", written("model.safetensors", LFS_POINTER), load, "git LFS"),
    ("EHP-HEADER", written("model.safetensors", b"\x14" + b"\0" * 7 + b"\xff" * 40), load, "UTF-8"),
    ("EHP-NO-WEIGHTS", without("model.safetensors"), load, "`model.safetensors`"),
    ("EHP-SHARD", one_shard_missing, load, "`model-00002-of-00002.safetensors`"),
    ("EHP-SHAPE", config(hidden_size=32), load, "should be ["),
    ("EHP-CONFIG-JSON", written("config.json", b"{"), load, "config.json"),
    ("EHP-DTYPE", config(dtype="float99"), load, "`float99`"),
    ("EHP-NO-MODEL-TYPE", written("config.json", b"{}"), load, "`model_type`"),
    ("EHP-WRONG-CLASS", config(model_type="vit"), load, "`ViTConfig`"),
    ("EHP-QUANTIZATION-PACKAGE", config(quantization_config=AWQ), load, "gptqmodel"),
    ("EHQ-ARCHITECTURE", config(model_type="kimi_k9"), load, "`kimi_k9`"),
    ("EHQ-REMOTE-CODE", config(model_type="own", auto_map=REMOTE_CODE), load, "`org/m`"),
    ("EHT-NONE", without("tokenizer.json", "tokenizer_config.json"), pad, "`org/m`"),
    ("EHT-NO-PAD", lambda folder: _edit(folder / "tokenizer_config.json", {"pad_token": None}), pad,
     "`org/m`"),
    ("EHT-VOCABULARY", lambda folder: None, ask_beyond_vocabulary, "embedding"),
    ("EHC-NO-TEMPLATE", without("chat_template.jinja"), chat, "`abisee/cnn_dailymail`"),
    ("EHT-TEMPLATE-SYNTAX", written("chat_template.jinja", b"{% for m in messages %}"), chat,
     "endfor"),
    ("EHC-TEMPLATE", written("chat_template.jinja", b"{{ raise_exception('user first') }}"), chat,
     "user first"),
    ("EHT-TEMPLATE-NAME", written("chat_template.jinja", b"{{ messages[0].a.b }}"), chat,
     "attribute 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "change", "act", "said"), OF_CHECKPOINTS, ids=[each[0] for each in OF_CHECKPOINTS]
)
def test_a_damaged_checkpoint_is_explained_from_what_the_real_library_says(
    code: str,
    change: Change,
    act: Change,
    said: str,
    whole: Folder,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The library's handler keeps the stream of the test during which it was imported.
    for handler in logging.getLogger("transformers").handlers:
        if type(handler) is logging.StreamHandler:
            monkeypatch.setattr(handler, "stream", sys.stderr)
    folder = tmp_path / "model"
    shutil.copytree(whole, folder)
    change(folder)
    failure = explained(lambda: act(folder), lambda: "".join(capfd.readouterr()))
    assert failure.code == code, failure.detail
    assert said in failure.sentence


def test_real_files_that_are_not_what_their_names_say_are_explained(tmp_path: Path) -> None:
    import pyarrow.parquet
    import tokenizers

    (tmp_path / "train.parquet").write_bytes(b"text\nnot a parquet file")
    parquet = explained(lambda: pyarrow.parquet.ParquetFile(tmp_path / "train.parquet"))
    assert parquet.code == "EHC-PARQUET"
    odd = {"version": "1.0", "added_tokens": [], "model": {"type": "Strange"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(odd))
    damaged = explained(lambda: tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")))
    assert damaged.code == "EHT-DAMAGED"


def test_real_limits_of_torch_and_safetensors_are_explained() -> None:
    import safetensors.torch
    import torch

    weight = torch.zeros(4)
    shared = explained(lambda: safetensors.torch.save({"a": weight, "b": weight}))
    assert shared.code == "EHQ-SHARED-TENSORS"
    assert explained(lambda: torch.empty(10**15)).code == "EHB-ALLOCATION"
    assert explained(lambda: torch.zeros(2, device="meta").cpu()).code == "EHP-META"
    assert explained(lambda: torch.zeros(2, 3) @ torch.zeros(4, 5)).code == "EHQ-SHAPES"
    if not torch.backends.cuda.is_built():
        assert explained(lambda: weight.cuda()).code == "EHB-TORCH-WITHOUT-CUDA"


def test_a_hub_that_nobody_listens_as_is_explained(tmp_path: Path) -> None:
    from huggingface_hub import snapshot_download

    with nobody_listens() as place:
        endpoint = f"http://{place}"
        failure = explained(
            lambda: snapshot_download("org/m", endpoint=endpoint, local_dir=tmp_path, token=False)
        )
    assert failure.code == "EHB-REFUSED"
    assert "`org/m`" in failure.sentence


BY_THE_KERNEL = [
    ("EHB-DISK-FULL", "open('/dev/full', 'wb', 0).write(b'x')"),
    ("EHB-FILE-SIZE", "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
     "resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9)); open('here', 'wb', 0).write(b'x' * 10); "
     "open('here', 'ab', 0).write(b'x' * 10)"),
    ("EHB-TOO-MANY-FILES", "resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9)); "
     "[os.dup(0) for _ in range(9)]"),
    ("EHB-OUT-OF-MEMORY", "resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28)); bytes(2**30)"),
    ("EHB-MISSING-PACKAGE", "import modelopt_of_tomorrow"),
    ("EHB-LIBRARY", "import ctypes; ctypes.CDLL('libcudart.so.99')"),
    ("EHB-OLD-PROCESSOR", "os.kill(os.getpid(), signal.SIGILL)"),
    ("EHB-SHARED-MEMORY", "import mmap; f = open('here', 'w+b'); f.truncate(4096); "
     "m = mmap.mmap(f.fileno(), 4096); f.truncate(0); m[0]"),
    ("EHB-TERMINATED", "os.kill(os.getpid(), signal.SIGTERM)"),
    ("EHB-KILLED", "os.kill(os.getpid(), signal.SIGKILL)"),
]  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize(("code", "body"), BY_THE_KERNEL, ids=[each[0] for each in BY_THE_KERNEL])
def test_a_child_that_the_system_stops_is_explained_in_the_words_of_its_config(
    code: str, body: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    stand_in = tmp_path / "python"
    script = f"import os, resource, signal\nos.chdir({str(tmp_path)!r})\n{body}\n"
    (tmp_path / "body.py").write_text(script)
    stand_in.write_text(f"#!/bin/sh\nexec {sys.executable} -S {tmp_path}/body.py\n")
    stand_in.chmod(0o755)
    job = supervisor.job("inspect", spec_of("org/m"))
    outcome = supervisor.run(supervisor.command("inspect", job, python=str(stand_in)))
    assert outcome.kind is OutcomeKind.CRASHED
    assert outcome.failure is not None
    assert outcome.failure.code == code, outcome.failure.detail
    assert "tep `inspect`" in outcome.failure.sentence or "build worker" in outcome.failure.sentence


def test_the_count_of_kills_for_memory_is_read_from_the_control_group(tmp_path: Path) -> None:
    group = tmp_path / "cgroup" / "build"
    group.mkdir(parents=True)
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n")
    own = tmp_path / "self"
    own.write_text("4:memory:/other\n0::/build\n")
    assert oom_kills(process_cgroup=own, root=tmp_path / "cgroup") == 2
    own.write_text("4:memory:/other\n")
    assert oom_kills(process_cgroup=own, root=tmp_path / "cgroup") >= 0


def _tokenizer(folder: Folder) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def _edit(path: Path, changes: dict[str, Any]) -> None:
    stored = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in stored.items() if value is not None}))


def test_a_failure_that_passes_on_a_library_is_told_apart_by_its_cause() -> None:
    vague = Failure(code="EHQ-LOAD", blame=Blame.CHECKPOINT, sentence="It could not be loaded.")
    spec = spec_of("org/m")
    known = told_apart(vague, KeyError("added_tokens"), "calibrate", spec)
    assert (known.code, known.blame) == ("EHT-DAMAGED", Blame.CHECKPOINT)
    assert "`org/m`" in known.sentence
    assert told_apart(vague, ValueError("a thing nobody knows"), "calibrate", spec) is vague
    clear = Failure(code="EHQ-BLOCKS", blame=Blame.CONFIGURATION, sentence="It does not divide.")
    assert told_apart(clear, KeyError("added_tokens"), "calibrate", spec) is clear
