"""What was seen of artifacts that were served on a GPU, section by section."""

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence_table import about, engine_lines, one_line, section, table

_GIB = 1024**3
_SMALL = "SmolLM2-135M-Instruct, its own"


def deployed(name: str, found: Mapping[str, Any]) -> str:
    """Return what a deployment of an artifact told."""
    deployment = found["deployment"]
    rows = [
        ("weights", found.get("weights", _SMALL)),
        ("deployment", f"{deployment['status']}, {deployment['active_replica_count']} replica, "
                       f"asked for at the gateway's address of its environment"),
        ("from the order to active", f"{found['seconds_to_active']} s"),
        ("used of the GPU then", f"{found['card_used_bytes'] / _GIB:.2f} GiB"),
        *((("streamed chat", f"“{one_line(found['streamed']['answer'])}”"),)
          if "streamed" in found else ()),
    ]  # fmt: skip
    title = about("An artifact served on a GPU", name)
    return section(title, name, found, rows, engine_lines(found))


def asked(name: str, found: Mapping[str, Any]) -> str:
    """Return what the `openai` client got through the gateway."""
    streamed, structured, cancel = found["streamed"], found["json_schema"], found["cancel"]
    holds = "holds the schema" if structured["holds_the_schema"] else "does NOT hold the schema"
    rows = [
        ("streamed chat", f"“{one_line(streamed['answer'])}”, {streamed['pieces']} pieces, the "
                          f"first after {streamed['first_piece_seconds']} s"),
        ("JSON schema, strict", f"`{one_line(structured['text'])}` {holds}; "
                                f"`{structured['finish_reason']}`"),
        ("cancel", "the client hung up on an answer of 1,900 tokens; the engine said that it ran "
                   f"nothing {cancel['seconds_until_the_engine_said_idle']} s later, after "
                   f"{cancel['tokens_made_of_1900']:.0f} tokens{_afterwards(cancel)}"),
        *(("the engine's own metric", f"`{line}`") for line in cancel.get("engine_says", ())
          if "_total{" in line and not line.endswith(" 0.0")),
    ]  # fmt: skip
    return section("The `openai` client through the gateway, on a GPU", name, found, rows)


def speed(name: str, found: Mapping[str, Any]) -> str:
    """Return tokens per second, through the gateway and at the same engine."""
    rows = [
        (str(row["streams"]), f"{row['gateway']:,}", f"{row['alone']:,}",
         _cost(row), _span(row, "gateway"), _span(row, "alone"))
        for row in found["rows"]
    ]  # fmt: skip
    columns = (
        "streams",
        "through the gateway",
        "vLLM alone",
        "cost",
        "all turns",
        "all turns alone",
    )
    weights = found.get("weights") or found.get("model", "")
    note = (
        f"Tokens per second of {weights}: the best of the turns, which alternate in one call at "
        f"one engine, with answers of {_tokens(found)} tokens. A negative cost is noise."
    )
    more = ["", note]
    title = about("Speed through the gateway beside vLLM alone", name)
    return table(title, name, found, columns, rows, more)


def taken_down(name: str, found: Mapping[str, Any]) -> str:
    """Return how a deployment gave its GPU back."""
    rows = [
        ("inactive", f"after {found['seconds_until_inactive']} s"),
        ("the GPU's memory free", f"after {found['seconds_until_the_card_is_free']} s, "
                                   f"{found['card_used_bytes'] / _GIB:.2f} GiB used by nobody"),
    ]  # fmt: skip
    return section(about("A deployment deactivated on a GPU", name), name, found, rows)


def _afterwards(cancel: Mapping[str, Any]) -> str:
    made = cancel.get("tokens_made_in_the_next_second")
    return "" if made is None else f", and made {made:.0f} more in the second after"


def _cost(row: Mapping[str, Any]) -> str:
    middle = row.get("cost_of_medians_percent")
    more = "" if middle is None else f" (of the medians {middle:+.2f} %)"
    return f"{row['cost_percent']:+.2f} %{more}"


def _span(row: Mapping[str, Any], way: str) -> str:
    rates = [turn[way]["tokens_per_second"] for turn in row["turns"]]
    return f"{min(rates):,}–{max(rates):,}"


def _tokens(found: Mapping[str, Any]) -> str:
    row = found["rows"][0]
    return str(row["turns"][0]["gateway"]["tokens"] // row["streams"])
