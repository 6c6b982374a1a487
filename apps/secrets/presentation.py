from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Team
from apps.secrets.models import Secret
from apps.secrets.selectors import days_until, secret_test_list
from apps.secrets.services.redaction import unreadable_secrets
from apps.secrets.usage import Use, opened_by, uses_of
from apps.ui import tones
from controlplane.domain.rules.checkpoint.secret_expiry import WARNING_DAYS

_TESTS_SHOWN = 5
_KINDS = (
    ("config", "Configs"),
    ("build", "Last builds"),
    ("push", "Last pushes"),
    ("deployment", "Deployments"),
    ("alert_channel", "Alert channels"),
)
_PLURALS = {
    "build": "builds",
    "push": "pushes",
    "deployment": "deployments",
    "alert_channel": "alert channels",
}
_OPEN = ("waiting", "running")


@dataclass(frozen=True, kw_only=True)
class SecretRow:
    secret: Secret
    uses: Sequence[Use]
    is_readable: bool = True

    @property
    def configs(self) -> Sequence[Use]:
        return [use for use in self.uses if use.kind == "config"]

    @property
    def others(self) -> str:
        counts = [(sum(use.kind == kind for use in self.uses), kind) for kind in _PLURALS]
        return ", ".join(
            f"{n} {kind.replace('_', ' ') if n == 1 else _PLURALS[kind]}" for n, kind in counts if n
        )

    @property
    def expiry(self) -> str:
        """The state of its end: `expired`, `expires soon`, `later`, or nothing."""
        return expiry_state(self.secret)


def expiry_state(secret: Secret) -> str:
    if secret.expires_at is None:
        return ""
    days = days_until(secret.expires_at)
    if days < 0:
        return "expired"
    return "expires soon" if days <= WARNING_DAYS else "later"


def secret_rows(team: Team, secrets: Sequence[Secret]) -> Sequence[SecretRow]:
    uses = uses_of(team, [secret.name for secret in secrets])
    unreadable = unreadable_secrets(secrets)
    return [
        SecretRow(secret=secret, uses=uses[secret.name], is_readable=secret.id not in unreadable)
        for secret in secrets
    ]


def secret_context(team: Team, secret: Secret) -> Mapping[str, Any]:
    uses = uses_of(team, [secret.name])[secret.name]
    by_kind = [(title, [use for use in uses if use.kind == kind]) for kind, title in _KINDS]
    tests = list(secret_test_list(secret=secret)[:_TESTS_SHOWN])
    is_open = any(test.state in _OPEN for test in tests)
    running = tones.title("running", f"{secret.name} · Enginehouse")
    return {
        "secret": secret,
        "is_readable": not unreadable_secrets([secret]),
        "expiry": expiry_state(secret),
        "uses": [(title, used_by) for title, used_by in by_kind if used_by],
        "suggestions": opened_by(team, secret.name),
        "tests": tests,
        "is_open": is_open,
        "tab_title": running if is_open else f"{secret.name} · Enginehouse",
    }
