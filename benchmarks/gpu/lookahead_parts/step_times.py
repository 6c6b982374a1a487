"""What a step of vLLM's model runner takes by the tokens in it, as the plugin wrote it down."""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

LONGEST_SECONDS: Final = 0.1
"""Between two steps of one request; what is longer is a pause between requests."""
FEWEST_STEPS: Final = 5
_PARTS: Final = ("execute_model", "_sample", "propose_draft_token_ids")


def step_times_file(place: Path, side: str) -> Path:
    """Return where a side's plugin writes its times."""
    return place / f"{side}.times"


def step_times(path: Path) -> Mapping[str, Any]:
    """Return medians in milliseconds, by the tokens that a step computes; none without a file."""
    if not path.exists():
        return {}
    by_tokens: dict[int, list[Mapping[str, float]]] = {}
    for tokens, step in _steps([json.loads(line) for line in path.read_text().splitlines()]):
        by_tokens.setdefault(tokens, []).append(step)
    return {
        str(tokens): {"steps": len(steps), **_medians(steps)}
        for tokens, steps in sorted(by_tokens.items())
        if len(steps) >= FEWEST_STEPS
    }


def _steps(lines: list[list[Any]]) -> Iterator[tuple[int, Mapping[str, float]]]:
    """Yield the tokens of each step, its whole time to the next one, and that of its parts."""
    begins = [at for at, line in enumerate(lines) if line[0] == _PARTS[0]]
    for this, following in pairwise(begins):
        whole = lines[following][1] - lines[this][1]
        if whole < LONGEST_SECONDS and lines[this][3]:
            parts = {part: took for part, _, took, _ in lines[this:following]}
            yield lines[this][3], {"whole": whole, **parts}


def _medians(steps: list[Mapping[str, float]]) -> Mapping[str, float]:
    return {
        f"{part.lstrip('_')}_milliseconds": round(1e3 * median(entries), 3)
        for part in ("whole", *_PARTS)
        if (entries := [each[part] for each in steps if part in each])
    }
