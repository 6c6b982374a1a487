"""What a gateway's choice of replica brings: tokens that engines had cached, and first tokens.

    python benchmarks/prefix_choice.py [--json] [--full]

Two replicas of SmolLM2-135M in the native engine on a CPU, behind the real gateway, which
chooses by prompts (`prefix`), by load and by chance in turns of one run. Two shapes: conversations
that share a system prompt, turn after turn, and agents that share long instructions and read what
their tools say. Each turn has words of its own, so that no choice finds what another left. The
engine's own count of cached tokens is read, with the first token as a client sees it.

Then the gateway's chooser before engines whose caches are too small, reckoned by the token: with
what their answers tell of it taken in, and without (`--pressure` for this alone).
"""

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.checkpoints import smollm2
from benchmarks.engine_cpu_parts.sides import Ours
from benchmarks.gateway import environment, gateway
from benchmarks.gateway_parts.processes import child, control_plane
from benchmarks.prefix_choice_parts.asking import Asked, ask_all, wait_for_routes
from benchmarks.prefix_choice_parts.pressure import under_pressure
from benchmarks.prefix_choice_parts.routes import routes_to
from benchmarks.prefix_choice_parts.shapes import SHAPES, Shape
from workers.gateway.choice.beliefs import Outcome
from workers.runtimes.ports import free_port

CHOICES = ("prefix", "least_loaded", "random")
TURNS = 3
BARS = {
    f"{shape}_cached_share_ratio_to_{rival}": report.at_least(limit)
    for shape, limit in (("conversations", 1.2), ("agents", 1.1))
    for rival in ("least_loaded", "random")
}
PRESSURE_BARS = {
    "pressure_cached_share_ratio_to_uncorrected": report.at_least(0.98),
    "pressure_wait_mean_ratio_to_uncorrected": report.at_most(1.0),
}
SEEDS = range(1, 6)


def main() -> int:
    """Measure, print and give back the exit status."""
    parser = report.parser(__doc__, full="three turns of each choice, not one")
    parser.add_argument("--pressure", action="store_true", help="only what is reckoned")
    options = parser.parse_args()
    told = report.Report(as_json=options.json)
    reckoned = dict(figures_under_pressure())
    if options.pressure:
        return told.end(reckoned, PRESSURE_BARS)
    with ExitStack() as until_end:
        engines = [Ours(smollm2(), 1, "float32") for _ in range(2)]
        for each in engines:
            until_end.callback(each.stop)
        figures = measure([each.port for each in engines], TURNS if options.full else 1)
    return told.end(figures | reckoned, BARS | PRESSURE_BARS)


def measure(ports: Sequence[int], turns: int) -> dict[str, Any]:
    """Return every figure by name: of each shape, ours beside the rivals'."""
    asked: dict[tuple[str, str], list[Asked]] = {}
    with control_plane(routes_to(ports)) as url:
        for turn in range(turns):
            for choice in random.Random(turn).sample(CHOICES, len(CHOICES)):
                with served(url, choice) as port:
                    for shape in SHAPES:
                        words = random.Random(f"{turn} {choice} {shape.name}")
                        found = ask_all(port, shape, words)
                        asked.setdefault((shape.name, choice), []).extend(found)
    return {name: value for shape in SHAPES for name, value in figures_of(shape, asked)}


def figures_under_pressure() -> Iterator[tuple[str, float]]:
    """Yield what the engines' own counts bring to the choice, all seeds together."""
    shares, waits = {}, {}
    for name, corrected in (("corrected", True), ("uncorrected", False)):
        runs = [under_pressure(corrected=corrected, seed=seed) for seed in SEEDS]
        shares[name] = sum(each.cached for each in runs) / sum(each.asked for each in runs)
        waits[name] = mean(seconds for each in runs for seconds in each.seconds)
        yield f"pressure_cached_share_{name}", round(shares[name], 4)
        yield f"pressure_wait_seconds_mean_{name}", round(waits[name], 4)
        if corrected:
            for outcome in Outcome:
                yield f"pressure_beliefs_{outcome}", sum(each.beliefs[outcome] for each in runs)
    for kind, both in (("cached_share", shares), ("wait_mean", waits)):
        ratio = both["corrected"] / both["uncorrected"]
        yield f"pressure_{kind}_ratio_to_uncorrected", round(ratio, 3)


@contextmanager
def served(url: str, choice: str) -> Iterator[int]:
    """Yield the port of a gateway that chooses so."""
    port = free_port("127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        chosen = {**environment(url, folder), "GATEWAY_REPLICA_CHOICE": choice}
        with child(*gateway(port), port=port, environment=chosen):
            wait_for_routes(port)
            yield port


def figures_of(
    shape: Shape, asked: dict[tuple[str, str], list[Asked]]
) -> Iterator[tuple[str, float]]:
    """Yield the figures of a shape by name."""
    shares, firsts = {}, {}
    for choice in CHOICES:
        found = asked[shape.name, choice]
        shares[choice] = sum(each.cached_tokens for each in found) / sum(
            each.prompt_tokens for each in found
        )
        firsts[choice] = [each.first_token_seconds for each in found]
        yield f"{shape.name}_requests_{choice}", len(found)
        yield (
            f"{shape.name}_prompt_tokens_mean_{choice}",
            round(mean(each.prompt_tokens for each in found), 1),
        )
        yield f"{shape.name}_cached_share_{choice}", round(shares[choice], 4)
        yield f"{shape.name}_first_token_seconds_p50_{choice}", round(median(firsts[choice]), 4)
        yield f"{shape.name}_first_token_seconds_mean_{choice}", round(mean(firsts[choice]), 4)
    for rival in CHOICES[1:]:
        yield (
            f"{shape.name}_cached_share_ratio_to_{rival}",
            round(shares["prefix"] / max(shares[rival], 1e-9), 3),
        )
        yield (
            f"{shape.name}_first_token_p50_ratio_to_{rival}",
            round(median(firsts["prefix"]) / median(firsts[rival]), 3),
        )


if __name__ == "__main__":
    raise SystemExit(main())
