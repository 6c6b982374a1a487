"""What a run of the tests said of itself, as figures.

make test 2>&1 | tee run.log
python benchmarks/test_suite.py run.log > benchmarks/results/test_suite-….json
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_AREA = re.compile(
    r"^([a-z0-9_/]+|all, with servers) +(\d+\.\d)(?: \(\d+\))? +(\d+\.\d)", re.MULTILINE
)
_FILE = re.compile(r"^ +(\d+\.\d) (tests/\S+)$", re.MULTILINE)
_LOOP = re.compile(r"^A fixed loop took (\d+) ms", re.MULTILINE)
_END = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+) in (\d+\.\d+)s", re.MULTILINE)
_SEED = re.compile(r"^Order: --randomly-seed=(\d+)", re.MULTILINE)


def figures(said: str) -> Mapping[str, object]:
    """Return the figures of the last run in a log. Raises ValueError where none came to its end."""
    ends = [*_END.finditer(said)]
    if not ends:
        raise ValueError("the log holds no end of a run, such as `5 passed in 1.20s`")
    areas = {name: (float(cpu), float(wall)) for name, cpu, wall in _AREA.findall(said)}
    total = areas.pop("all, with servers", None)
    loop, seed = _LOOP.search(said), _SEED.search(said)
    return {
        "tests": {word: int(count) for count, word in _counted(ends[-1][1])},
        "wall_seconds": float(ends[-1][2]),
        "cpu_seconds": total[0] if total else None,
        "machine_loop_seconds": int(loop[1]) / 1000 if loop else None,
        "seed": int(seed[1]) if seed else None,
        "areas": {
            name: {"cpu_seconds": cpu, "wall_seconds": wall} for name, (cpu, wall) in areas.items()
        },
        "dearest_files_cpu_seconds": {file: float(cpu) for cpu, file in _FILE.findall(said)},
    }


def _counted(words: str) -> list[tuple[str, str]]:
    return re.findall(r"(\d+) (\w+)", words)


def main(arguments: Sequence[str]) -> int:
    """Print the figures of a log as JSON."""
    try:
        outcome = figures(Path(arguments[0]).read_text(errors="replace"))
    except (IndexError, OSError, ValueError) as error:
        sys.stderr.write(f"test_suite: {error or 'name the log of a run'}\n")
        return 1
    print(json.dumps(outcome, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
