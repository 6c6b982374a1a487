"""What `gpu/encoders.sh` and `gpu/encoder_forwards.py` measured, a section for each shape."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import table

_SIDES = ("native", "native_through_gateway", "vllm")
_ASKED = {
    "single_64_in_flight": ("one text a request, 64 in flight", "requests_per_second", "/s"),
    "single_256_in_flight": ("one text a request, 256 in flight", "requests_per_second", "/s"),
    "batch_32_32_in_flight": ("32 texts a request, 32 in flight", "texts_per_second", " texts/s"),
    "batch_32_64_in_flight": ("32 texts a request, 64 in flight", "texts_per_second", " texts/s"),
    "mixed": ("mixed lengths, 256 in flight", "texts_per_second", " texts/s"),
    "alone": ("one request at a time, p50", "p50_milliseconds", " ms"),
    "half_rate": ("half of the top rate, p99", "p99_milliseconds", " ms"),
    "seconds_to_ready": ("from start to ready", None, " s"),
    "memory_bytes": ("memory on the GPU", None, " bytes"),
}
_FORWARD = re.compile(r"(?P<model>\w+?)_(?P<count>\d+)_texts?_of_(?P<tokens>\d+)$")


def sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what each kept file tells, those of other benchmarks left out."""
    for name, outcome in results.items():
        if name.startswith("encoders") and "shapes" in outcome:
            for shape, figures in outcome["shapes"].items():
                yield _asked(name, outcome, shape, figures)
        elif name.startswith("encoder_forwards"):
            yield _forwards(name, outcome)


def _asked(name: str, found: Mapping[str, Any], shape: str, figures: Mapping[str, Any]) -> str:
    rows = [
        (words, *cells)
        for key, (words, figure, unit) in _ASKED.items()
        if any(cells := [_cell(figures.get(f"{side}_{key}"), figure, unit) for side in _SIDES])
    ]
    columns = ("asked", "native engine", "through the gateway", "vLLM")
    command = f"benchmarks/gpu/encoders.sh --out <results> --shapes {shape}"
    where = _where(name, found, command)
    return table(f"An encoder's speed: {shape}", name, where, columns, rows, _planned(figures))


def _planned(figures: Mapping[str, Any]) -> list[str]:
    """Return what the plan says beside it; nothing where that was not kept."""
    if not (planned := figures.get("planned")):
        return []
    memory = sum(planned[f"{part}_bytes"] for part in ("weights", "activations", "overhead"))
    rate = planned["texts_per_second"]
    return ["", f"Planned: {rate['low']:,.0f} to {rate['high']:,.0f} texts/s of "
                f"{planned['text_tokens']} tokens, {memory:,} bytes."]  # fmt: skip


def _forwards(name: str, found: Mapping[str, Any]) -> str:
    rows = [
        (match["model"], f"{match['count']} × {match['tokens']} tokens",
         f"{each['milliseconds']} ms", f"{each['texts_per_second_overlapped']:,.0f}")
        for key, each in found.items()
        if (match := _FORWARD.match(key))
    ]  # fmt: skip
    columns = ("model", "forward", "alone", "texts/s, overlapped")
    command = "python -m benchmarks.gpu.encoder_forwards <results> --tokenizer <folder>"
    more = (
        "",
        f"FP8 beside bfloat16, random weights: a cosine of {found['fp8_cosine_least']} at least.",
    )
    where = _where(name, found, command)
    return table("Forwards of an encoder by themselves", name, where, columns, rows, more)


def _where(name: str, found: Mapping[str, Any], command: str) -> Mapping[str, str]:
    date = name.removesuffix(".json")[-len("2026-11-30") :]
    return {"gpu": found["device"], "date": date, "command": command}


def _cell(found: Any, figure: str | None, unit: str) -> str:
    value = found.get(figure) if isinstance(found, Mapping) else found
    return "" if value is None else f"{value:,g}{unit}"
