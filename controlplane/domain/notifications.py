from dataclasses import dataclass
from enum import StrEnum


class ChannelForm(StrEnum):
    WEBHOOK = "webhook"
    SLACK = "slack"
    MAIL = "mail"


@dataclass(frozen=True, kw_only=True)
class Message:
    id: str
    """The same in every attempt, so that who gets it twice can tell."""
    form: ChannelForm
    target: str
    """An address of a webhook, mailboxes separated by commas, or nothing: Slack's is a secret."""
    secret_name: str
    title: str
    text: str
    body: bytes
    """JSON: of a webhook or of Slack; empty for mail."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an attempt went, in words that hold no secret; no sentence where it arrived."""

    sentence: str = ""
    hint: str = ""
    may_retry: bool = True

    @property
    def arrived(self) -> bool:
        return not self.sentence
