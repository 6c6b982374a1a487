"""`python -m workers.outline_tuning`: what lookahead settings would have drafted in kept outlines.

A gateway's child, so that what leaves its host is figures. It takes one line of JSON and answers
with one, and ends when its standard input does: the gateway is gone then, or wants no answer.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from controlplane.domain.lookahead_tuning.settings import LookaheadSetting
from workers.build_steps.lookahead_tuning.exchanges import (
    LONGEST_ANSWER_TOKENS,
    LONGEST_PROMPT_TOKENS,
    MOST_TOKENS,
    SHORTEST_ANSWER_TOKENS,
    Exchange,
)
from workers.build_steps.lookahead_tuning.simulation import Simulation
from workers.gateway.traffic_samples.sample_files import SUFFIX
from workers.gateway.traffic_samples.sample_form import UnreadableSample, unpack

EXIT_ORPHANED = 75
_LEAST_URGENT = 19


def main() -> int:
    """Return the exit status; requests come first on this machine."""
    os.nice(_LEAST_URGENT)
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    settings = [LookaheadSetting.from_json(each) for each in order["settings"]]
    figures = tuned(Path(order["folder"]), settings, order["device"])
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


def tuned(folder: Path, settings: list[LookaheadSetting], device: str) -> Mapping[str, Any]:
    simulations = [Simulation(setting, device) for setting in settings]
    answers = prompt_tokens = answer_tokens = 0
    for exchange in _exchanges(folder):
        answers += 1
        prompt_tokens += len(exchange.prompt)
        answer_tokens += len(exchange.answer)
        for simulation in simulations:
            simulation.say(exchange)
    return {
        "answers": answers,
        "prompt_tokens": prompt_tokens,
        "answer_tokens": answer_tokens,
        "counted": [each.counted().to_json() for each in simulations],
    }


def _exchanges(folder: Path) -> Iterator[Exchange]:
    """Yield the newest ones; one that was deleted meanwhile, or is torn, is passed over."""
    left = MOST_TOKENS
    for file in sorted(folder.glob(f"*{SUFFIX}"), reverse=True):
        try:
            outline = unpack(file.read_bytes())
        except (FileNotFoundError, UnreadableSample):
            continue
        prompt = np.asarray(outline.prompt[-LONGEST_PROMPT_TOKENS:], dtype=np.int32)
        answer = np.asarray(outline.answer[:LONGEST_ANSWER_TOKENS], dtype=np.int32)
        left -= len(prompt) + len(answer)
        if left < 0:
            return
        if len(prompt) and len(answer) >= SHORTEST_ANSWER_TOKENS:
            yield Exchange(prompt=prompt, answer=answer)


def _end_with_input() -> None:
    while sys.stdin.readline():
        pass
    os._exit(EXIT_ORPHANED)


if __name__ == "__main__":
    sys.exit(main())
