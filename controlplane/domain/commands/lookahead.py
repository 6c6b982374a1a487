"""n-gram speculation of other engines <-> lookahead decoding here."""

from typing import Any

from controlplane.domain.spec.engine_build import Speculator

SPECULATOR = "trt_llm.build.speculator"
REASON = (
    "Both draft from text that was seen before. Here the length follows from the n-gram size n as "
    "2n - 3 for window 1 and verification 1, so it is rounded up to the next odd number; where "
    "matches are looked up differs, and so does the share of drafts that is accepted."
)
_LONGEST_DRAFT = 512


def lookahead_for(drafted: int) -> dict[str, Any]:
    """Return the speculator whose draft is at least so many tokens long."""
    ngram = (min(max(drafted, 1), _LONGEST_DRAFT) + 4) // 2
    return {
        "speculative_decoding_mode": "LOOKAHEAD_DECODING",
        "lookahead_windows_size": 1,
        "lookahead_ngram_size": ngram,
        "lookahead_verification_set_size": 1,
    }


def drafted_by(speculator: Speculator) -> int | None:
    drafted = speculator.num_draft_tokens or speculator.draft_length
    return drafted if drafted and drafted > 0 else None


def is_plain(speculator: Speculator) -> bool:
    """Return whether `lookahead_for` makes exactly this speculator again."""
    drafted = drafted_by(speculator)
    lookahead = lookahead_for(drafted) if drafted else None
    return speculator.model_dump(mode="json", exclude_unset=True) == lookahead
