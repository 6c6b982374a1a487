"""The servers that are compared: vLLM with our drafter, with its own n-gram, and with none."""

import functools
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu import forced_answers
from benchmarks.gpu.lookahead_parts.step_times import step_times_file
from benchmarks.gpu.random_checkpoint import CONFIG
from controlplane.domain.runtimes.vllm.drafter import speculative_config
from workers.runtimes.ports import free_port
from workers.runtimes.vllm.part import write_part

READY_SECONDS = 320
OF_THE_MODEL = ("config.json", "generation_config.json", "model.safetensors")
LONGEST_TEXT = 16384
MOST_ROWS = 16
KV_BYTES: Final = {"shape": 6 * 2**30, "tiny": 2**30, "small": 2**30}
"""Of each side, so that none measures the memory that another takes meanwhile."""
FIRST_OWN_PORT, OWN_PORTS = 23000, 100
"""vLLM looks for ports of its own from here on, each side among others."""
COMPILE_THREADS = 4
PLUGIN = "enginehouse_forced"
TINY: Final = {
    "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 49152,
}  # fmt: skip
"""Of the shape; few enough words that a model of made-up weights repeats itself."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One way to draft; `model` is `shape`, `tiny` or `small`."""

    speculative: Mapping[str, Any] | None = None
    model: str = "shape"
    environment: Mapping[str, str] | None = None
    is_forced: bool = True
    is_eager: bool = False

    @property
    def drafts(self) -> bool:
        """Whether anything is drafted."""
        return self.speculative is not None


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a side answers."""

    url: str
    words: list[str]
    ready_seconds: float
    key: str = ""
    """Of the gateway before it, where there is one."""
    counters_url: str = ""
    """Where the engine itself tells what it counted; `url` where nothing stands before it."""


def _ngram(tokens: int) -> dict[str, Any]:
    return {
        "method": "ngram", "num_speculative_tokens": tokens,
        "prompt_lookup_max": 5, "prompt_lookup_min": 2,
    }  # fmt: skip


_V1: Final = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
_ALIKE: Final = {"VLLM_BATCH_INVARIANT": "1"}
"""A row is computed alike however many share its step."""
SIDES: Final[Mapping[str, Side]] = {
    "ours_127": Side(speculative=speculative_config(127)),
    "ours_127_filled_up": Side(speculative=speculative_config(127), environment={"FILLED_UP": "1"}),
    "ngram_63": Side(speculative=_ngram(63)),
    "ngram_31": Side(speculative=_ngram(31)),
    "ngram_15": Side(speculative=_ngram(15)),
    "none": Side(is_forced=False),
    "small_ours_63": Side(model="small", speculative=speculative_config(63)),
    "small_none": Side(model="small"),
    "small_ours_63_alike": Side(
        model="small", speculative=speculative_config(63), environment=_ALIKE, is_eager=True
    ),
    "small_none_alike": Side(model="small", environment=_V1 | _ALIKE, is_eager=True),
    "ours_63": Side(speculative=speculative_config(63)),
    "none_on_v1": Side(environment=_V1),
    "tiny_none_on_v1": Side(model="tiny", environment=_V1 | _ALIKE, is_eager=True),
    "tiny_ours_15": Side(
        model="tiny", speculative=speculative_config(15), environment=_ALIKE, is_eager=True
    ),
}
"""In the order of their worth, for when time runs out."""


def model_folders(
    tokenizer: Path, place: Path, *, shape: Path | None, small: Path | None
) -> dict[str, Path]:
    """Return where each model is: a config and a tokenizer, but for the small one no weights."""
    large = json.loads(shape.read_text()) if shape else CONFIG
    values = {
        "shape": _without_weights(large, tokenizer, place / "shape"),
        "tiny": _without_weights(large | TINY, tokenizer, place / "tiny"),
    }
    return values if small is None else {**values, "small": small}


def _without_weights(config: Mapping[str, Any], tokenizer: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in tokenizer.iterdir():
        if path.name not in OF_THE_MODEL:
            shutil.copyfile(path, folder / path.name)
    (folder / "config.json").write_text(json.dumps(dict(config)))
    return folder


class Started:
    """A server that is starting, or has."""

    def __init__(self, name: str, number: int, side: Side, folder: Path, place: Path) -> None:
        port = free_port("127.0.0.1")
        self.name, self.side, self._place = name, side, place
        self._url, self._words = f"http://127.0.0.1:{port}", _words(side, folder)
        command = [*os.environ["VLLM_PYTHON"].split(), "-m", "vllm.entrypoints.cli.main", "serve",
                   str(folder), "--port", str(port), "--host", "127.0.0.1",
                   "--served-model-name", "served", *self._words]  # fmt: skip
        self._began = time.monotonic()
        with (place / f"{name}.log").open("wb") as log:
            self._engine = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True,
                env=_environment(self, number, place),
            )  # fmt: skip

    def ready(self) -> Server:
        """Return it once it answers. Raises RuntimeError where it does not."""
        _await(self._engine, self._url, self._began)
        seconds = round(time.monotonic() - self._began, 1)
        return Server(url=self._url, words=self._words, ready_seconds=seconds)

    def end(self) -> None:
        """End it; once is enough."""
        if self._engine.poll() is None:
            _end(self._engine)


@contextmanager
def started(
    names: Sequence[str], folders: Mapping[str, Path], place: Path
) -> Iterator[list[Started]]:
    """Start sides together and give them; whoever is left at the end is ended."""
    begun: list[Started] = []
    try:
        for number, name in enumerate(names):
            side = SIDES[name]
            begun.append(Started(name, number, side, folders[side.model], place))
        yield begun
    finally:
        for each in begun:
            each.end()


def _words(side: Side, folder: Path) -> list[str]:
    words = ["--max-model-len", str(2048 if side.model == "small" else LONGEST_TEXT),
             "--max-num-seqs", str(MOST_ROWS), "--max-num-batched-tokens", "8192",
             "--gpu-memory-utilization", "0.04",
             "--kv-cache-memory-bytes", str(KV_BYTES[side.model])]  # fmt: skip
    if side.model == "shape":
        words += ["--load-format", "dummy", "--quantization", "fp8"]
    elif side.model == "tiny":
        words += ["--load-format", "dummy"]
    if side.is_eager:
        words += ["--enforce-eager"]
    if side.speculative is not None:
        words += ["--speculative-config", json.dumps(dict(side.speculative))]
    return words


def _environment(started: Started, number: int, place: Path) -> dict[str, str]:
    side = started.side
    path = [*_parts(place), *filter(None, [os.environ.get("VLLM_SITE")])]
    forced = side.model == "shape" and side.is_forced
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "NUMBA_CACHE_DIR": str(place / "numba"),
        "VLLM_CACHE_ROOT": str(place / f"cache-{number}"),  # those of one number never run together
        "VLLM_PORT": str(FIRST_OWN_PORT + OWN_PORTS * number),
        "TORCHINDUCTOR_COMPILE_THREADS": str(COMPILE_THREADS),
        "FORCED_ANSWERS": str(place / "answers.json"),
        "STEP_TIMES": str(step_times_file(place, started.name)),
        "VLLM_PLUGINS": PLUGIN if forced else "",
        **(side.environment or {}),
    }


@functools.cache
def _parts(place: Path) -> tuple[str, str]:
    """Return the folders of our part and of the plugin, written once: others may be reading."""
    return str(write_part(place / "parts")), str(_plugin(place))


def _plugin(place: Path) -> Path:
    """Return a folder in which vLLM finds the plugin, as if it were installed."""
    folder = place / "plugin"
    report = folder / f"{PLUGIN}-0.dist-info"
    report.mkdir(parents=True, exist_ok=True)
    (report / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PLUGIN}\nVersion: 0\n")
    (report / "entry_points.txt").write_text(
        f"[vllm.general_plugins]\n{PLUGIN} = forced_answers:install\n"
    )
    shutil.copyfile(forced_answers.__file__, folder / "forced_answers.py")
    return folder


def _await(engine: "subprocess.Popen[bytes]", url: str, began: float) -> None:
    while time.monotonic() < began + READY_SECONDS:
        if engine.poll() is not None:
            raise RuntimeError(f"vLLM ended with {engine.returncode}; see its log")
        with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=2):
            return
        time.sleep(0.2)
    raise RuntimeError(f"vLLM was not ready within {READY_SECONDS} s; see its log")


def _end(engine: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(engine.pid, number)
        with suppress(subprocess.TimeoutExpired):
            engine.wait(20)
            break
    with suppress(ProcessLookupError):
        os.killpg(engine.pid, signal.SIGKILL)
