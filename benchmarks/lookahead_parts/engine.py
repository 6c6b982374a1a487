"""What drafts are worth on the native engine and the CPU: the same text, sooner."""

import time
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

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
PROMPTS: Mapping[str, tuple[str, float]] = {"copying": (COPYING, 0.0), "unlike": (UNLIKE, 1.0)}
"""With their temperature: at 0 a small model soon repeats itself, which is easy to draft."""


def figures(folder: Path) -> dict[str, Any]:
    """Return for each prompt CPU seconds without drafts to those with, and if texts are equal."""
    sides = {
        name: _engine(folder, drafts=drafts)
        for name, drafts in (("plain", False), ("drafted", True))
    }
    try:
        return {name: _compared(sides, *prompt) for name, prompt in PROMPTS.items()}
    finally:
        for engine in sides.values():
            engine.stop()


def _engine(folder: Path, *, drafts: bool) -> Engine:
    settings = EngineSettings(
        model_dir=folder,
        served_model_name="measured",
        dtype="float32",
        threads=1,
        kv_cache_bytes=256 << 20,
        make_drafter=drafters(NGRAM, FACTOR) if drafts else None,
    )
    engine = Engine(settings)
    engine.start()
    return engine


def _compared(sides: Mapping[str, Engine], prompt: str, temperature: float) -> dict[str, Any]:
    least: dict[str, float] = {}
    answers: dict[str, list[int]] = {}
    for _ in range(TURNS):
        for name, engine in sides.items():
            seconds, answers[name] = _asked(engine, prompt, temperature)
            least[name] = min(seconds, least.get(name, seconds))
    return {
        "plain_to_drafted_cpu_seconds": round(least["plain"] / least["drafted"], 3),
        "plain_cpu_seconds": round(least["plain"], 3),
        "is_the_same_text": answers["plain"] == answers["drafted"],
    }


def _asked(engine: Engine, prompt: str, temperature: float) -> tuple[float, list[int]]:
    pieces: SimpleQueue[Progress] = SimpleQueue()
    tokens = engine.codec.encode(prompt)
    sampling = Sampling(max_tokens=ANSWER_TOKENS, temperature=temperature, seed=1, ignore_eos=True)
    started = time.process_time()
    sequence = engine.submit(Generation(prompt=tokens, sampling=sampling, report=pieces.put))
    while not pieces.get().is_last:
        pass
    return time.process_time() - started, sequence.tokens[len(tokens) :]
