"""EH8: secrets that end, before the day and after it."""

from collections.abc import Sequence
from datetime import date

from controlplane.domain.facts import sources
from controlplane.domain.facts.secret_expiries import SecretExpiry
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example
from controlplane.domain.rules.rule import Rule, Severity

WARNING_DAYS = 14
"""How long before its end a secret is warned of, here and on pages."""

_CONFIG = {"secrets": {"team_token": None}}
_STORED = frozenset({"team_token"})


def _of_spec(c: Context) -> Sequence[SecretExpiry]:
    named = c.spec.secret_names
    return [each for each in c.known.secret_expiries if each.name in named]


def _ending(c: Context) -> Sequence[SecretExpiry]:
    return [each for each in _of_spec(c) if 0 <= each.days_left <= WARNING_DAYS]


def _expired(c: Context) -> Sequence[SecretExpiry]:
    return [each for each in _of_spec(c) if each.days_left < 0]


def _fields(expiries: Sequence[SecretExpiry]) -> tuple[str, ...]:
    return tuple(f"secrets.{each.name}" for each in expiries) or ("secrets",)


def _listed(expiries: Sequence[SecretExpiry]) -> str:
    return ", ".join(f"`{each.name}` ({each.on.isoformat()})" for each in expiries)


def _example(days_left: int) -> Example:
    expiry = SecretExpiry(name="team_token", on=date(2026, 12, 1), days_left=days_left)
    return Example(config=_CONFIG, secret_names=_STORED, secret_expiries=(expiry,))


EXPIRES_SOON = Rule(
    code="EH828",
    name="secret-that-expires-soon",
    severity=Severity.WARNING,
    fields=lambda c: _fields(_ending(c)),
    concerns=lambda c: bool(c.spec.secret_names),
    when=lambda c: bool(_ending(c)),
    message=lambda c: (
        f"Expires within {WARNING_DAYS} days: {_listed(_ending(c))}. No build starts with it from "
        "then on. Replace its value under Secrets."
    ),
    source=sources.enginehouse("secrets"),
    bad=_example(3),
    good=_example(WARNING_DAYS + 1),
)

EXPIRED = Rule(
    code="EH829",
    name="secret-that-has-expired",
    severity=Severity.ERROR,
    fields=lambda c: _fields(_expired(c)),
    concerns=lambda c: bool(c.spec.secret_names),
    when=lambda c: bool(_expired(c)),
    message=lambda c: (
        f"Expired: {_listed(_expired(c))}. Replace its value under Secrets, or move its day if it "
        "still works."
    ),
    source=sources.enginehouse("secrets"),
    bad=_example(-1),
    good=_example(3),
)
