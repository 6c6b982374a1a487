"""vLLM's Python gets the drafter and nothing else of this program."""

import subprocess
import sys
from pathlib import Path

from controlplane.domain.runtimes.vllm.drafter import CLASS
from workers.runtimes.vllm.part import write_part


def test_the_class_that_vllm_is_told_is_imported_from_the_part_alone(tmp_path: Path) -> None:
    part = write_part(tmp_path / "parts")
    module, _, name = CLASS.rpartition(".")
    code = (
        f"import sys; from {module} import {name} as it; import workers;"
        "print(workers.__file__); assert 'controlplane' not in sys.modules"
    )
    process = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path += {_sites()!r}; {code}"],
        check=True, capture_output=True, text=True, env={"PYTHONPATH": str(part)}, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdout.strip() == str(part / "workers" / "__init__.py")
    assert {path.name for path in (part / "workers").iterdir()} >= {"__init__.py", "lookahead"}
    assert not (part / "workers" / "agent").exists()


def _sites() -> list[str]:
    """Where packages are installed, without the links to this program that stand there."""
    return [path for path in sys.path if path.endswith("site-packages")]


def test_a_part_is_written_once(tmp_path: Path) -> None:
    part = write_part(tmp_path)
    file = part / "workers" / "lookahead" / "rules.py"
    stamp = file.stat().st_mtime_ns
    assert write_part(tmp_path) == part
    assert file.stat().st_mtime_ns == stamp  # or numba would compile anew
    assert [each.name for each in tmp_path.iterdir()] == [part.name]
