"""Writes of configs, and their checks, which may ask for facts."""

from apps.configs.services.configs import config_create, revision_create
from apps.configs.services.examination import (
    examine_parsed,
    examine_text,
    known_of,
    parsed_text,
    revision_examine,
)
from apps.configs.services.facts import (
    FactsToRead,
    facts_claim,
    facts_finish,
    facts_request,
    facts_to_read,
    is_awaited,
)
from apps.configs.services.renaming import config_rename
from apps.configs.services.verdicts import verdicts_refresh

__all__ = [
    "FactsToRead",
    "config_create",
    "config_rename",
    "examine_parsed",
    "examine_text",
    "facts_claim",
    "facts_finish",
    "facts_request",
    "facts_to_read",
    "is_awaited",
    "known_of",
    "parsed_text",
    "revision_create",
    "revision_examine",
    "verdicts_refresh",
]
