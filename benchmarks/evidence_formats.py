"""What vLLM made of the files that builds write in each precision."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import one_line, table

_SHOWN_LETTERS = 300


def loaded(name: str, found: Mapping[str, Any]) -> str:
    """Return a row a case: whether it loads, and how far its answers are the native engine's."""
    title = f"What builds write in each precision, under vLLM {found['vllm']}"
    columns = ("case", "loads", "beside the native engine on the same files")
    more = ["", found["note"]] if "note" in found else []
    return table(title, name, found, columns, _rows(found["cases"]), more)


def _rows(cases: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, each in cases.items():
        if not each["loads"]:
            yield f"`{name}`", "no", one_line(each["error"][:_SHOWN_LETTERS])
            continue
        yield f"`{name}`", f"after {each['seconds_until_ready']} s", _agreement(each)


def _agreement(case: Mapping[str, Any]) -> str:
    if "error" in case:
        return one_line(case["error"][:_SHOWN_LETTERS])
    if "cosines_to_native" in case:
        return f"cosines of {min(case['cosines_to_native']):.5f} and more"
    gaps = case["gaps_where_they_part"]
    parted = f", and parts where the first two are {max(gaps)} apart at most" if gaps else ""
    return (
        f"the same first token {case['first_tokens_same']} times of {len(case['rows'])}, the same "
        f"{case['same']} tokens of {case['tokens']} from the front; logarithmic probabilities "
        f"differ by {case['largest_difference']} at most{parted}{_called(case)}"
    )


def _called(case: Mapping[str, Any]) -> str:
    if "tools" not in case:
        return ""
    named = case["tools"]["named"]
    calls = (named.get("message") or {}).get("tool_calls") or []
    words = one_line(calls[0]["function"]["arguments"]) if calls else one_line(str(named))[:200]
    automatic = "answered" if "message" in case["tools"]["auto"] else "refused"
    return f"; a request that may call a function is {automatic}, one that must has `{words}`"
