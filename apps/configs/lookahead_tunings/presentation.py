from typing import Any

from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.ui.tones import title

_SHOWN_BATCHES = (1, 4, 16, 64)
_PERCENT = 100


def tuning_context(tuning: LookaheadTuning) -> dict[str, Any]:
    result = tuning.result
    recommended = (result or {}).get("recommended")
    return {
        "tuning": tuning,
        "told": result,
        "recommended": recommended,
        "failure": tuning.failure,
        "rows": _rows(result) if result else (),
        "batches": _batches(result) if result else (),
        "may_apply": bool(recommended and recommended["changes"] and not tuning.made_revision),
        "percent": _percent(tuning),
        "is_open": tuning.is_open,
        "tab_title": title(tuning.state, f"Lookahead of {tuning.revision.config.name}"),
    }


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    chosen = (result["recommended"] or {}).get("setting")
    shown = _batches(result)
    return [
        {
            **each,
            "is_recommended": each["setting"] == chosen,
            "is_now": each["setting"] == result["now"],
            "speeds": [one for one in each["by_batch"] if one["requests"] in shown],
        }
        for each in result["settings"]
    ]


def _batches(result: dict[str, Any]) -> list[int]:
    known = [each["requests"] for each in result["settings"][0]["by_batch"]]
    return [batch for batch in known if batch in _SHOWN_BATCHES]


def _percent(tuning: LookaheadTuning) -> int | None:
    total = tuning.progress_total
    return tuning.progress_done * _PERCENT // total if total else None
