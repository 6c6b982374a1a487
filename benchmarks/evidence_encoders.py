"""What was seen of encoders that vLLM served on a GPU, section by section."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import engine_lines, one_line, section

_TITLES = {
    "embedder": "An embedder under vLLM on a GPU",
    "reranker": "A reranker under vLLM on a GPU",
    "classifier": "A classifier under vLLM on a GPU",
}


def asked(name: str, found: Mapping[str, Any]) -> str:
    """Return what the build told, and what the deployed engine answered beside Transformers."""
    smoke = found["smoke_test"]
    rows = [
        ("started by the smoke test", f"{smoke['engine']['engine']} {smoke['engine']['version']}, "
                                      "from the published artifact"),
        ("its answer", one_line(smoke["answer"])),
        *_compared(found),
        ("from the order to active", f"{found['deployed']['seconds_to_active']} s"),
    ]  # fmt: skip
    return section(_TITLES[found["what"]], name, found, rows, engine_lines(found))


def _compared(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "cosines_to_transformers" in found:
        least = min(found["cosines_to_transformers"])
        yield "through the gateway", f"vectors of {found['numbers']} numbers"
        yield "least cosine to Transformers' vectors of the same texts", f"{least:.5f}"
        return
    yield "through the gateway", f"`{one_line(str(_figures(found['answer'])))}`"
    transformers = [_rounded(each) for each in found["transformers"]]
    yield "Transformers, the same texts", f"`{transformers}`"


def _figures(answer: Mapping[str, Any]) -> list[Any]:
    """Return a score for each text, in the order of the texts, or each one's probabilities."""
    if "results" in answer:
        ordered = sorted(answer["results"], key=lambda each: each["index"])
        return [_rounded(each["relevance_score"]) for each in ordered]
    return [_rounded(each["probs"]) for each in answer["data"]]


def _rounded(found: Any) -> Any:
    return [round(each, 4) for each in found] if isinstance(found, list) else round(found, 4)
