"""Time comes from one seam, tests wait in one way, and nobody sleeps in between."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("controlplane", "apps", "workers")
SEAM = {"controlplane/clock.py"}
WAITING = {"tests/waiting.py", "tests/manual_clock.py"}
OUTSIDE_THE_SUITE = {"tests/stress.py", "tests/stopping.py", "tests/other_time/sitecustomize.py"}
"""What runs the suite, and is no part of it."""
CLOCKS = {
    *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.sleep"),
    *("time.perf_counter", "time.perf_counter_ns"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"),
    *("datetime.date.today", "django.utils.timezone.now", "django.utils.timezone.localdate"),
    *("asyncio.sleep", "asyncio.timeout", "asyncio.timeout_at", "asyncio.wait_for"),
}
OF_A_LOOP = {"call_later", "call_at"}
OF_A_CLOCK = {"controlplane.clock.SYSTEM.sleep", "controlplane.clock.SYSTEM.pause"}
"""What product code is given a clock for, and tests may only yield with, for no time."""


def test_product_code_reads_time_through_the_seam_alone() -> None:
    assert [*_readings(PRODUCT, but=SEAM)] == []


def test_tests_read_no_clock_and_do_not_sleep() -> None:
    assert [*_readings(("tests",), but=WAITING | OUTSIDE_THE_SUITE)] == []


def test_there_is_one_way_to_wait() -> None:
    found = [
        f"{path}:{loop.lineno}"
        for path, tree in _modules(("tests",))
        if path not in WAITING | OUTSIDE_THE_SUITE
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While) and any(_sleeps(each) for each in ast.walk(loop))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "import time as t\nstarted = t.monotonic()",
        "from time import monotonic as now\nfield(default_factory=now)",
        "def f():\n    from datetime import datetime\n    return datetime.now(UTC)",
        "from django.utils import timezone\nx(default=timezone.now)",
        "import asyncio\nasyncio.get_running_loop().time()",
        "self._loop.call_later(1, f)",
        "loop.time()",
        "from controlplane.clock import SYSTEM\nSYSTEM.sleep(1)",
    ],
)
def test_a_reading_is_found_however_it_is_written(text: str) -> None:
    assert len([*_read_in(ast.parse(text))]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from controlplane import clock\nclock.now()",
        "self._clock.sleep(1)",
        "clock.time()",
        "from datetime import datetime\ndatetime.fromtimestamp(1)",
        "from controlplane.clock import SYSTEM\nSYSTEM.pause(0)",
    ],
)
def test_what_reads_no_clock_is_left_alone(text: str) -> None:
    assert [*_read_in(ast.parse(text))] == []


def _readings(folders: tuple[str, ...], *, but: set[str]) -> Iterator[str]:
    for path, tree in _modules(folders):
        if path not in but:
            yield from (f"{path}:{line}: {name}" for line, name in _read_in(tree))


def _modules(folders: tuple[str, ...]) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in file.parts:
                yield str(file.relative_to(ROOT)), ast.parse(file.read_text())


def _read_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and _dotted(node, names) in CLOCKS:
            yield node.lineno, _dotted(node, names)
        elif isinstance(node, ast.Call) and _asks_a_loop_or_sleeps(node, names):
            yield node.lineno, ast.unparse(node.func)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Return what each imported name stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.asname, each.name) for each in node.names if each.asname)
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                yield each.asname or each.name, f"{node.module}.{each.name}"


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    text = ast.unparse(node)
    first, _, rest = text.partition(".")
    known = names.get(first, first)
    return f"{known}.{rest}" if rest else known


def _asks_a_loop_or_sleeps(call: ast.Call, names: dict[str, str]) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if _dotted(call.func, names) in OF_A_CLOCK:
        return ast.unparse(call.args[0]) != "0"
    of_a_loop = ast.unparse(call.func.value).endswith(("loop", "loop()"))
    return call.func.attr in OF_A_LOOP or (call.func.attr == "time" and of_a_loop)


def _sleeps(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func).rpartition(".")[2] in {"sleep", "pause", "wait_for_timeout"}
