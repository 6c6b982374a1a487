"""What clients of others were answered by vLLM through the gateway on a GPU."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import engine_lines, one_line, section

_SHOWN_CHARACTERS = 160


def asked(name: str, found: Mapping[str, Any]) -> str:
    """Return what each script printed, and what held of the requests that shared a batch."""
    rows = [
        ("the model", f"SmolLM2-135M, taught to call tools in {found['taught']['steps']} steps "
                      f"(loss {found['taught']['first_loss']} → {found['taught']['last_loss']})"),
        ("its names at the gateway", ", ".join(f"`{each}`" for each in found["models"])),
        *((f"`{each['script']}`", _shown(each["printed"])) for each in found["scripts"]),
        ("`completions`", _shown(found["completion"]["text"])),
        *_one_batch(found["one_batch"]),
        ("from the order to active", f"{found['deployed']['seconds_to_active']} s"),
    ]  # fmt: skip
    return section(
        "Clients, unmodified, at vLLM through the gateway on a GPU", name, found, rows,
        engine_lines(found),
    )  # fmt: skip


def _one_batch(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    together, alone = found["together"], found["alone"]
    yield (
        "in one batch",
        (
            f"{len(together)} requests, {found['all_under_way_seconds']} s all under way, the "
            f"engine ran {found['most_running']:.0f} at a moment, adapters at a moment: "
            f"`{found['adapters_running_together']}`"
        ),
    )
    for kind, each in alone.items():
        same = [other["text"] == each["text"] for other in together if other["kind"] == kind]
        words = "the model itself" if kind == "any" else f"`{kind}`"
        yield (
            f"{words} in the batch",
            (f"{_shown(each['text'])}; {sum(same)} of {len(same)} as when asked alone"),
        )


def _shown(text: str) -> str:
    line = one_line(text).replace("`", "'")
    return f"“{line[:_SHOWN_CHARACTERS]}{'…' if len(line) > _SHOWN_CHARACTERS else ''}”"
