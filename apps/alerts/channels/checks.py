"""What a channel may be: refused when it is stored, not when it is needed."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from apps.accounts.models import Team
from apps.alerts.kinds import LABELS
from apps.rest.errors import InvalidInput
from apps.secrets.selectors import secret_get
from controlplane.domain.notifications import ChannelForm

LONGEST_NAME = 100
LONGEST_TARGET = 2000
MOST_MAILBOXES = 20


def checked(team: Team, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as they are stored. Raises InvalidInput."""
    form = ChannelForm(values["form"])
    channel_values = {
        **values,
        "form": form,
        "name": _name(values["name"]),
        "kinds": _kinds(values),
    }
    channel_values["target"] = _TARGETS[form](str(values.get("target") or "").strip())
    channel_values["secret_name"] = _secret(
        team, form, str(values.get("secret_name") or "").strip()
    )
    return channel_values


def _name(given: str) -> str:
    name = given.strip()
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise _refused("name", f"A name has 1 to {LONGEST_NAME} printable characters.")
    return name


def _kinds(values: Mapping[str, Any]) -> list[str]:
    kinds = list(dict.fromkeys(values.get("kinds") or ()))
    unknown = [each for each in kinds if each not in LABELS]
    if unknown:
        raise _refused(
            "kinds",
            f"There is no kind of alert `{unknown[0]}`.",
            hint=f"Kinds are {', '.join(f'`{each}`' for each in LABELS)}.",
        )
    return kinds


def _webhook(target: str) -> str:
    parts = urlsplit(target) if len(target) <= LONGEST_TARGET and target.isprintable() else None
    if parts is None or parts.scheme not in ("http", "https") or not _has_host(parts.netloc):
        raise _refused("target", "A webhook needs an http(s) address.", hint="`https://host/path`")
    if "@" in parts.netloc:
        raise _refused(
            "target",
            "The address holds a login, which everyone of the team could read.",
            hint="Leave it out; name a secret that signs the messages.",
        )
    return target


def _has_host(netloc: str) -> bool:
    try:
        parts = urlsplit(f"//{netloc}")
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _slack(target: str) -> str:
    if target:
        raise _refused(
            "target",
            "Slack's address lets anyone post, so it is kept as a secret.",
            hint="Store the address under Secrets, and name that secret here.",
        )
    return ""


def _mail(target: str) -> str:
    if not settings.EMAIL_URL:
        raise _refused(
            "form",
            "This installation has no mail server.",
            hint="The operator sets EMAIL_URL and EMAIL_FROM for web and workers.",
        )
    boxes = [each.strip() for each in target.split(",") if each.strip()]
    if not 1 <= len(boxes) <= MOST_MAILBOXES:
        raise _refused("target", f"Name 1 to {MOST_MAILBOXES} mailboxes, separated by commas.")
    for box in boxes:
        _check_mailbox(box)
    return ", ".join(boxes)


def _check_mailbox(box: str) -> None:
    try:
        validate_email(box)
    except ValidationError:
        raise _refused("target", f"`{box[:100]}` is no mailbox.") from None


_TARGETS: Mapping[ChannelForm, Callable[[str], str]] = {
    ChannelForm.WEBHOOK: _webhook,
    ChannelForm.SLACK: _slack,
    ChannelForm.MAIL: _mail,
}


def _secret(team: Team, form: ChannelForm, name: str) -> str:
    if form is ChannelForm.MAIL and name:
        raise _refused("secret_name", "Mail needs no secret.", hint="Leave it empty.")
    if not name:
        if form is ChannelForm.SLACK:
            raise _refused(
                "secret_name",
                "Slack needs the secret that holds its webhook address.",
                hint="Store `https://hooks.slack.com/…` under Secrets, and name that secret here.",
            )
        return ""
    secret = secret_get(team=team, name=name)
    if secret is None:
        raise _refused(
            "secret_name",
            f"The team has no secret `{name[:80]}`.",
            hint="Store it under Secrets first.",
        )
    return secret.name


def _refused(field: str, message: str, hint: str | None = None) -> InvalidInput:
    return InvalidInput(message, fields=[field], hint=hint)
