"""Time comes from one seam, tests wait in one way, and nobody sleeps in between."""

import ast
import re
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
_MAY_READ = re.compile(
    r"^ *(?:from|import) .*\b(?:time|datetime|timezone|asyncio)\b"
    r"|\.(?:time|call_later|call_at)\(|\b(?:SYSTEM|timezone)\b",
    re.MULTILINE,
)
"""What a module has to say to come to a clock or a loop."""
_LAST_WORDS = {each.rpartition(".")[2] for each in CLOCKS}
OF_A_LOOP = {"call_later", "call_at"}
OF_A_CLOCK = {"controlplane.clock.SYSTEM.sleep", "controlplane.clock.SYSTEM.pause"}
"""What product code is given a clock for, and tests may only yield with, for no time."""


def test_product_code_reads_time_through_the_seam_alone() -> None:
    assert [*_readings(PRODUCT, but=SEAM)] == []


def test_tests_read_no_clock_and_do_not_sleep() -> None:
    assert [*_readings(("tests",), but=WAITING | OUTSIDE_THE_SUITE)] == []


def test_there_is_one_way_to_wait() -> None:
    entries = [
        f"{path}:{loop.lineno}"
        for path, tree in _modules(("tests",), having=re.compile("while "))
        if path not in WAITING | OUTSIDE_THE_SUITE
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While) and any(_sleeps(each) for each in ast.walk(loop))
    ]
    assert entries == []


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
    for path, tree in _modules(folders, having=_MAY_READ):
        if path not in but:
            yield from (f"{path}:{line}: {name}" for line, name in _read_in(tree))


def _modules(
    folders: tuple[str, ...], *, having: re.Pattern[str]
) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules in whose text it is: to parse all takes seconds."""
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in file.parts and having.search(text := file.read_text()):
                yield str(file.relative_to(ROOT)), ast.parse(text)


def _read_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and _is_a_clock(node, names):
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


def _is_a_clock(node: ast.Name | ast.Attribute, names: dict[str, str]) -> bool:
    """Whether it is one of them; by its last word first, since most names cannot be."""
    last = node.attr if isinstance(node, ast.Attribute) else names.get(node.id, node.id)
    return last.rpartition(".")[2] in _LAST_WORDS and _dotted(node, names) in CLOCKS


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    text = ast.unparse(node)
    first, _, rest = text.partition(".")
    known = names.get(first, first)
    return f"{known}.{rest}" if rest else known


def _asks_a_loop_or_sleeps(call: ast.Call, names: dict[str, str]) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "time":
        return ast.unparse(call.func.value).endswith(("loop", "loop()"))
    if call.func.attr in ("sleep", "pause") and _dotted(call.func, names) in OF_A_CLOCK:
        return ast.unparse(call.args[0]) != "0"
    return call.func.attr in OF_A_LOOP


def _sleeps(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in {"sleep", "pause", "wait_for_timeout"}
