"""What drafts are worth on the native engine and the CPU: the same text, sooner."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from workers.engine.drafts import MakeDrafter
from workers.engine.engine import Engine
from workers.engine.generation import Generation, Progress, Sampling
from workers.engine.settings import EngineSettings
from workers.runtimes.native.drafting import drafters

COPYING = """Repeat the text word for word.

The nodes of an installation tell the control plane every second what they hold, and a node that is
silent for fifteen seconds is suspected but not given up, since its engines may well go on. Each of
its replicas stays among the routes and is chosen while a probe of the gateway answers.

Repeated:

The nodes of an installation tell the control plane every second what they hold, and"""
UNLIKE = "A list of nineteen unrelated words: lamp, seven, quickly, Norway, blue, under, carpet,"
ANSWER_TOKENS = 64
NGRAM, FACTOR = 16, 4
TURNS = 3
WRONG_TOKENS = 24
"""Of answers whose drafts are never right."""
VERIFIED_TOKENS = (0, 4, 8, 16, 32, 64)
"""Of drafts that are never right, to tell what verifying takes."""
PROMPTS: Mapping[str, tuple[str, float]] = {"copying": (COPYING, 0.0), "unlike": (UNLIKE, 1.0)}
"""With their temperature: at 0 a small model soon repeats itself, which is easy to draft."""


def figures(folder: Path) -> dict[str, Any]:
    """Return for each prompt CPU seconds without drafts to those with, and if texts are equal."""
    sides = {
        name: _engine(folder, make)
        for name, make in (("plain", None), ("drafted", drafters(NGRAM, FACTOR)))
    }
    try:
        return {name: _compared(sides, *prompt) for name, prompt in PROMPTS.items()}
    finally:
        for engine in sides.values():
            engine.stop()


def verification_costs(folder: Path) -> dict[str, float]:
    """Return the CPU time of a step that verifies so many wrong tokens, to one that has none."""
    sides = {
        str(drafted): _engine(folder, (lambda n: lambda: _Wrong(n))(drafted))
        for drafted in VERIFIED_TOKENS
    }
    least: dict[str, float] = {}
    try:
        for _ in range(TURNS):
            for name, engine in sides.items():
                took = _asked(engine, UNLIKE, 0.0, WRONG_TOKENS)
                least[name] = min(took.cpu_seconds / took.forwards, least.get(name, float("inf")))
        return {name: round(each / least["0"], 3) for name, each in least.items()}
    finally:
        for engine in sides.values():
            engine.stop()


class _Wrong:
    """Drafts a token that no answer has."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        return [1] * min(self._tokens, most)

    def shorten(self, kept: int) -> None:
        return


def _engine(folder: Path, make_drafter: MakeDrafter | None) -> Engine:
    settings = EngineSettings(
        model_dir=folder,
        served_model_name="measured",
        dtype="float32",
        threads=1,
        kv_cache_bytes=256 << 20,
        make_drafter=make_drafter,
    )
    engine = Engine(settings)
    engine.start()
    return engine


def _compared(sides: Mapping[str, Engine], prompt: str, temperature: float) -> dict[str, Any]:
    turns = [
        {name: _asked(engine, prompt, temperature) for name, engine in sides.items()}
        for _ in range(TURNS)
    ]
    took = {name: [each[name] for each in turns] for name in sides}
    plain, drafted = (
        {
            "cpu": min(each.cpu_seconds for each in took[name]),
            "wall": min(each.wall_seconds for each in took[name]),
        }
        for name in ("plain", "drafted")
    )
    return {
        "plain_to_drafted_cpu_seconds": round(plain["cpu"] / drafted["cpu"], 3),
        "plain_to_drafted_wall_seconds": round(plain["wall"] / drafted["wall"], 3),
        "plain_cpu_seconds": round(plain["cpu"], 3),
        "plain_forwards": took["plain"][0].forwards,
        "drafted_forwards": took["drafted"][0].forwards,
        "is_the_same_text": took["plain"][0].answer == took["drafted"][0].answer,
    }


@dataclass(frozen=True, kw_only=True)
class _Took:
    answer: list[int]
    cpu_seconds: float
    wall_seconds: float
    forwards: int


def _asked(
    engine: Engine, prompt: str, temperature: float, answer_tokens: int = ANSWER_TOKENS
) -> _Took:
    pieces: SimpleQueue[Progress] = SimpleQueue()
    tokens = engine.codec.encode(prompt)
    sampling = Sampling(max_tokens=answer_tokens, temperature=temperature, seed=1, ignore_eos=True)
    accepted = _accepted(engine)
    cpu, wall = time.process_time(), time.perf_counter()
    sequence = engine.submit(Generation(prompt=tokens, sampling=sampling, report=pieces.put))
    while not pieces.get().is_last:
        pass
    return _Took(
        answer=sequence.tokens[len(tokens) :],
        cpu_seconds=time.process_time() - cpu,
        wall_seconds=time.perf_counter() - wall,
        forwards=answer_tokens - (_accepted(engine) - accepted),
    )


def _accepted(engine: Engine) -> int:
    """Return the drafted tokens that needed no forward of their own, so far."""
    lines = engine.metrics.expose().decode().splitlines()
    name = "engine_accepted_draft_tokens_total "
    return int(next(float(line.split()[1]) for line in lines if line.startswith(name)))
