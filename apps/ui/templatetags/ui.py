"""Tags and filters of every page: states, times, sizes, copy buttons, memory bars."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString, mark_safe

from apps.ui import formats, tones
from apps.ui.listing import ListQuery, sorted_query
from apps.ui.refusals import refusal_of
from apps.ui.undo import undo_of
from controlplane import clock
from controlplane.domain.rules import ALL_RULES

register = template.Library()
register.filter("number", formats.number)
register.filter("price", formats.price)
register.filter("rate", formats.rate)
register.filter("size", formats.size)
register.filter("duration", formats.duration)
register.filter("percent", formats.percent)
register.filter("first_sentence", formats.first_sentence)
register.filter("undo", undo_of)
register.filter("refusal", refusal_of)

_LITERAL = re.compile(r"`([^`]+)`")
_PAGE = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(/[\w./-]+)")
_MEMORY_PARTS = (
    ("weights", "Weights", "weights_bytes"),
    ("kv", "KV cache", "kv_cache_bytes"),
    ("activations", "Activations", "activations_bytes"),
    ("overhead", "Overhead", "overhead_bytes"),
)


_ABOUT_RUNTIMES = frozenset(rule.code for rule in ALL_RULES if rule.about_runtime)
_MOVING = mark_safe(" data-moving")  # nosec B308 (a constant)


@register.simple_tag
def pill(state: str, word: str = "") -> SafeString:
    """Return the state as a dot and a word; a moving one makes its page look again soon."""
    look = tones.shown(state)
    return format_html(
        '<span class="pill {}"{}>{}</span>',
        look.tone,
        _MOVING if tones.is_moving(state) else "",
        word or look.word,
    )


@register.filter
def tone(state: str) -> str:
    """Return the class that paints `state`."""
    return tones.shown(state).tone


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """Return a relative time with the exact one on hover; `times.js` keeps it true."""
    if moment is None:
        return formats.ABSENT
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds"),
        formats.exact_time(moment),
        formats.relative_time(moment, clock.now()),
    )


@register.simple_tag
def elapsed(start: datetime | None, end: datetime | None = None) -> SafeString | str:
    if start is None:
        return formats.ABSENT
    words = formats.duration(max(0.0, ((end or clock.now()) - start).total_seconds()))
    if end is not None:
        return words
    return format_html(
        '<time class="elapsed" datetime="{}">{}</time>', start.isoformat(timespec="seconds"), words
    )


@register.inclusion_tag("ui/_copied.html")
def copied(value: str, what: str, shown: str = "") -> dict[str, str]:
    return {"value": value, "what": what, "shown": shown or value}


@register.filter(needs_autoescape=True)
def literals(text: str, autoescape: bool = True) -> SafeString:
    """Return the text, escaped, with what stands in backticks set as code."""
    safe = conditional_escape(text) if autoescape else escape(text)
    code = _LITERAL.sub(r"<code>\1</code>", formats.spaced(safe))
    return mark_safe(code)  # nosec B308 B703 (escaped above)


@register.inclusion_tag("ui/_memory.html")
def memory(per_gpu: Mapping[str, Any]) -> dict[str, Any]:
    device, at, parts = max(1, int(per_gpu["device_bytes"])), 0.0, []
    for name, label, key in _MEMORY_PARTS:
        amount = max(0, int(per_gpu.get(key) or 0))
        width = min(amount / device * 100, 100 - at)
        parts.append(
            {"name": name, "label": label, "bytes": amount, "x": f"{at:.2f}", "w": f"{width:.2f}"}
        )
        at += width
    return {"parts": parts, "device_bytes": device, "free_bytes": per_gpu.get("free_bytes")}


@register.inclusion_tag("ui/_sorted_head.html")
def sorted_head(list_query: ListQuery, column: str, words: str, kind: str = "") -> dict[str, Any]:
    way = {column: "ascending", f"-{column}": "descending"}.get(list_query.sort, "")
    address = f"?{sorted_query(list_query, column)}{list_query.anchor and f'#{list_query.anchor}'}"
    # Who sorts from the keyboard goes on from that head; an anchor has a place to go on from.
    takes_focus = bool(way) and not list_query.anchor
    return {
        "way": way,
        "address": address,
        "words": words,
        "kind": kind,
        "takes_focus": takes_focus,
    }


@register.inclusion_tag("ui/_sorted_by.html")
def sorted_by(list_query: ListQuery, columns: Iterable[tuple[str, str]]) -> dict[str, Any]:
    return {"choices": [sorted_head(list_query, column, words) for column, words in columns]}


@register.inclusion_tag("ui/_trend.html")
def trend(values: Sequence[float | None], what: str) -> dict[str, Any]:
    """Show values in a row as a line that breaks where nothing was measured."""
    known = [each for each in values if each is not None]
    return {
        "path": _trend_path(values, max([*known, 0.0])),
        "words": f"{what}: {formats.rate(min(known))} to {formats.rate(max(known))}" if known
        else f"{what}: nothing measured",
    }  # fmt: skip


def _trend_path(values: Sequence[float | None], highest: float) -> str:
    """Return it as the data of an SVG path, 100 wide and 20 high."""
    steps, pen = [], "M"
    width = 100 / max(1, len(values) - 1)
    for place, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        y = 19 - 18 * value / highest if highest else 19
        # A lone point is drawn too: a line of no length has round ends.
        steps.append(f"{pen}{place * width:.1f} {y:.1f}" + ("h0" if pen == "M" else ""))
        pen = "L"
    return "".join(steps)


@register.filter
def is_about_runtime(code: str) -> bool:
    """Return whether a finding says what the tables of runtimes say, which have a page."""
    return code in _ABOUT_RUNTIMES


@register.simple_tag
def state_count(state: str, count: int) -> SafeString:
    return pill(state, f"{count} {tones.shown(state).word}")


@register.simple_tag
def source(given: Mapping[str, str]) -> SafeString:
    """Return what a finding rests on, linked where it is a page, with the date on hover."""
    document, section = given["document"], given["section"]
    words = f"{document.rpartition('/')[2]}, {section}" if section else document
    title = f"{document}, checked {given['checked']}"
    if not _PAGE.fullmatch(document):
        return format_html('<span title="{}">{}</span>', title, words)
    return format_html(
        '<a href="https://{}" title="{}" rel="noreferrer">{}</a>', document, title, words
    )
