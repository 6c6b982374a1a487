"""An image made of the Python that runs the tests: no registry is asked."""

import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

_LEFT_OUT = re.compile(
    r"/(site-packages|dist-packages|test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|"
    r"config-[^/]+|__pycache__|pydoc_data)(/|$)"
)


VERSION = "0.25.1"
_STAND_IN = Path(__file__).resolve().parents[4] / "benchmarks/gpu/rehearsal/stand_in_vllm.py"
_NEVER_READY = """\
import pathlib, signal, sys
if any(pathlib.Path(each, "never-ready").exists() for each in sys.argv):
    signal.pause()
"""


def python_image() -> bytes:
    """Return a root filesystem as a tar: `python3`, what it loads, and a stand-in for vLLM."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        real = Path(sys.executable).resolve()
        standard = Path(sysconfig.get_path("stdlib"))
        modules = [str(each) for each in (standard / "lib-dynload").glob("*.so")]
        for path in sorted({str(real), *_libraries([str(real), *modules])}):
            _add_file(tar, path)
        tar.add(standard, filter=_kept)
        _add_link(tar, "usr/bin/python3", str(real))
        packages = sysconfig.get_path("purelib").replace(sys.prefix, sys.base_prefix).lstrip("/")
        metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}\n"
        _add_text(tar, f"{packages}/vllm-{VERSION}.dist-info/METADATA", metadata)
        main = f"{_NEVER_READY}\n{_STAND_IN.read_text()}"
        _add_text(tar, f"{packages}/vllm/entrypoints/cli/main.py", main)
        for folder in ("tmp", "proc", "sys", "dev", "enginehouse"):
            each = tarfile.TarInfo(folder)
            each.type, each.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(each)
    return packed.getvalue()


def _libraries(binaries: list[str]) -> set[str]:
    stdout = subprocess.run(["ldd", *binaries], capture_output=True, text=True).stdout
    # Lines without indent name the binary that the following lines are of.
    return set(re.findall(r"^\s.*?(/\S+\.so\S*)", stdout, flags=re.MULTILINE))


def _add_file(tar: tarfile.TarFile, path: str) -> None:
    # Links on the way are followed, and the file lies where its name says.
    entry = tar.gettarinfo(os.path.realpath(path), arcname=path)
    with Path(path).open("rb") as content:
        tar.addfile(entry, content)


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _LEFT_OUT.search(f"/{entry.name}") else entry


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    tar.addfile(entry)


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    content = text.encode()
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
