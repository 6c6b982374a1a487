"""What the shifted run is started with."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.processes import ports
from tests import hygiene


def test_ports_are_taken_meanwhile_and_one_that_is_in_use_does_not_matter() -> None:
    with ports.reserved() as mine:
        number = ports.port_of(mine)
        with hygiene.ports_taken([number]):
            pass
    with (
        hygiene.ports_taken([number]),
        socket.socket() as other,
        pytest.raises(OSError, match="in use"),
    ):
        other.bind(("127.0.0.1", number))


def test_the_library_is_found_where_debian_puts_it(tmp_path: Path) -> None:
    assert hygiene.find_library(tmp_path) is None
    library = tmp_path / "x86_64-linux-gnu" / "faketime" / "libfaketimeMT.so.1"
    library.parent.mkdir(parents=True)
    library.touch()
    assert hygiene.find_library(tmp_path) == library


def test_without_the_library_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hygiene, "find_library", lambda _folder: None)
    assert hygiene.main([]) == 1
    assert "apt-get install faketime" in capsys.readouterr().out


_SAYS = """
import json, os, posix, sys
path = sys.argv[1]
kernel, told = posix.stat(path).st_mtime, os.stat(path)
os.utime(path, (100, 200))
print(json.dumps([told.st_mtime - kernel, told[8] - told.st_mtime_ns // 10**9, told.st_size,
                  os.path.getmtime(path), posix.stat(path).st_mtime]))
"""


def test_files_are_dated_by_the_shifted_clock_also_those_of_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "written"
    file.write_bytes(b"four")
    other_time = {
        "FAKETIME": "+2d",
        "PYTHONPATH": str(Path(hygiene.__file__).parent / "other_time"),
    }
    told = subprocess.run(
        [sys.executable, "-c", _SAYS, str(file)],
        env=os.environ | other_time,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(told.stdout) == [2 * 86_400, 0, 4, 200, 200 - 2 * 86_400]
