from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.notifications import ChannelForm, Message, Outcome
from workers.notifications.mail import send_mail
from workers.notifications.posting import post
from workers.notifications.signature import signed_headers


@dataclass(frozen=True, kw_only=True)
class Ways:
    email_url: str = ""
    email_from: str = ""
    allow_private_addresses: bool = False


def send(
    message: Message, *, secrets: Mapping[str, str], ways: Ways, clock: Clock = SYSTEM
) -> Outcome:
    """Return how it went; `secrets` are the values that the channel names."""
    secret = secrets.get(message.secret_name, "")
    if message.secret_name and not secret:
        return Outcome(
            sentence=f"The team has no secret `{message.secret_name}` any more.",
            hint="Store it under Secrets, or name another in the channel.",
            may_retry=False,
        )
    if message.form is ChannelForm.MAIL:
        return send_mail(message, server_url=ways.email_url, sender=ways.email_from)
    if message.form is ChannelForm.SLACK:
        return _post(secret.strip(), message, {}, ways)
    headers = signed_headers(
        message_id=message.id, timestamp=int(clock.time()), body=message.body, secret=secret
    )
    return _post(message.target, message, headers, ways)


def _post(url: str, message: Message, headers: Mapping[str, str], ways: Ways) -> Outcome:
    return post(url, body=message.body, headers=headers, allow_private=ways.allow_private_addresses)
