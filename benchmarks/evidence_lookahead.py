"""What was seen of lookahead under vLLM on a GPU: speed by side, and free answers compared."""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from benchmarks.evidence_table import table

_NAMES = {
    "none": "none, newer runner",
    "none_on_v1": "none, older runner",
    "ngram_15": "vLLM's n-gram, 15",
    "ngram_31": "vLLM's n-gram, 31",
    "ngram_63": "vLLM's n-gram, 63",
    "ours_63": "ours, 63",
    "ours_127": "ours, 127",
    "ours_127_small_graphs": "ours, 127, one token not filled up",
    "ours_127_filled_up": "ours, 127, one token filled up to 128",
    "ours_255": "ours, 255",
}
_COLUMNS = (
    "drafts", "1 % of lines edited, tokens/s", "accepted a draft", "unchanged file",
    "text of its own", "4 edited at once", "8 edited at once",
)  # fmt: skip
_EDITED = "edited_1_percent_"
_FREE = ("tiny_none_on_v1", "tiny_ours_15")
_WHAT = """
The shape of Qwen3-8B in FP8 with made-up weights, whose sampler says recorded answers under the
older runner: drafts are accepted as those texts have it, and a step costs what it costs. Tokens a
second from the first token to the last; one edited request is the median of three."""
_ALONE = " vLLM serves by itself, without a gateway."
_SINGLY = """ Each is asked at the
product's gateway, and is the only one on the device."""
_BEHIND = """ Each is asked at the
product's gateway. All sides started together and were asked one after another, ours first, with the
others idle beside it; each ended when it had been asked."""
_COPIES = (("small_ours_63", "small_none"), ("small_ours_63_alike", "small_none_alike"))


def measured(name: str, found: Mapping[str, Any]) -> str:
    """Return the table of all sides that were measured, and what held of the answers."""
    sides = found["sides"]
    measured_sides = {side: each for side, each in sides.items() if "ready_seconds" in each}
    rows = [
        (words, *_cells(measured_sides[side]))
        for side, words in _NAMES.items()
        if side in measured_sides
    ]
    is_behind = found.get("through_gateway", False)
    more = [
        f"{_WHAT}{_how(found)}", "", *_kept_to_record(measured_sides),
        *_steps(measured_sides), *_free(measured_sides), *_copies(measured_sides), *_left(sides),
    ]  # fmt: skip
    title = f"Lookahead under vLLM on a GPU{', through the gateway' if is_behind else ''}"
    return table(title, name, found, _COLUMNS, rows, more)


def _how(found: Mapping[str, Any]) -> str:
    if not found.get("through_gateway", False):
        return _ALONE
    return _SINGLY if "--at-once 1 " in found["command"] else _BEHIND


def _steps(sides: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a step takes of one token, and of a full draft, where that was written down."""
    for side, each in sides.items():
        steps = each.get("step_times") or {}
        if "1" in steps:
            drafted = str(int(side.split("_")[1]) + 1)
            times = [f"{steps[n]['whole_milliseconds']:.1f} ms" for n in ("1", drafted)]
            yield f"- A step of {_NAMES[side]}: {times[0]} of one token, {times[1]} of {drafted}."


def speed(side: Mapping[str, Any], what: str) -> float | None:
    """Return tokens a second of a side; of single edited requests the median."""
    if what != "edited":
        return side[what]["tokens_per_second"] if what in side else None
    found = [each["tokens_per_second"] for each in _single(side)]
    return median(found) if found else None


def _cells(side: Mapping[str, Any]) -> Iterator[str]:
    yield _told(speed(side, "edited"))
    told = "accepted_per_draft"
    accepted = [each[told] for each in _single(side) if told in each]
    yield f"{median(accepted):.1f}" if accepted else ""
    for what in ("verbatim", "unlike", f"{_EDITED}at_once_4", f"{_EDITED}at_once_8"):
        yield _told(speed(side, what))


def _single(side: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for name, each in side.items() if name.removeprefix(_EDITED).isdigit()]


def _told(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f}"


def _kept_to_record(sides: Mapping[str, Any]) -> Iterator[str]:
    said = [
        figure["is_recorded_answer"]
        for side in sides.values() for figure in side.values()
        if isinstance(figure, Mapping) and "is_recorded_answer" in figure
    ]  # fmt: skip
    if said:
        yield f"- {sum(said)} of {len(said)} figures have the recorded answers, token for token."


def _left(sides: Mapping[str, Any]) -> Iterator[str]:
    left = [_NAMES[side] for side, each in sides.items() if "not_run" in each and side in _NAMES]
    if left:
        yield f"- Not run, time was over: {'; '.join(left)}."


def _copies(sides: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each pair of SmolLM2 with drafts and without, which copy pages by itself."""
    for drafted, plain in _COPIES:
        if drafted not in sides or plain not in sides:
            continue
        ours, none = sides[drafted], sides[plain]
        both = [name for name in none if name.startswith("copy_") and name in ours]
        alike = sum(ours[name]["token_ids"] == none[name]["token_ids"] for name in both)
        rates = [median(side[name]["tokens_per_second"] for name in both) for side in (ours, none)]
        accepted = median(ours[name]["accepted_per_draft"] for name in both)
        how = "each row computed alike" if drafted.endswith("alike") else "as it is served"
        yield (
            f"- SmolLM2 copies pages with its own weights, {how}: {rates[0]:,.0f} tokens/s with "
            f"drafts of 63 and {rates[1]:,.0f} without, {accepted:.1f} accepted a draft, "
            f"{alike} of {len(both)} texts the same."
        )


def _free(sides: Mapping[str, Any]) -> Iterator[str]:
    plain, drafted = (sides.get(name, {}) for name in _FREE)
    both = [name for name in plain if name.startswith("free_") and name in drafted]
    if not both:
        return
    alike = sum(plain[name]["token_ids"] == drafted[name]["token_ids"] for name in both)
    accepted = sum(drafted[name].get("num_accepted_tokens", 0) for name in both)
    yield (
        f"- A tiny shape that answers freely, each row computed alike: {alike} of {len(both)} "
        f"answers are the same with drafts and without, {accepted:.0f} drafted tokens among them."
    )
