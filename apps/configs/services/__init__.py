"""Writes of configs, and their checks, which may ask for facts."""

from apps.configs.services.configs import config_create, revision_create
from apps.configs.services.examination import examine_text, known_of, revision_examine
from apps.configs.services.facts import (
    LEASE_SECONDS,
    RENEW_SECONDS,
    FactsLease,
    facts_claim,
    facts_finish,
    facts_redeemable,
    facts_renew,
    facts_request,
    facts_sweep,
)
from apps.configs.services.renaming import config_rename
from apps.configs.services.verdicts import verdicts_refresh

__all__ = [
    "LEASE_SECONDS",
    "RENEW_SECONDS",
    "FactsLease",
    "config_create",
    "config_rename",
    "examine_text",
    "facts_claim",
    "facts_finish",
    "facts_redeemable",
    "facts_renew",
    "facts_request",
    "facts_sweep",
    "known_of",
    "revision_create",
    "revision_examine",
    "verdicts_refresh",
]
