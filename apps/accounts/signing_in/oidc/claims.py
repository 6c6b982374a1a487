"""What a provider says of a person. It is input like any other, and believed word by word."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from allauth.socialaccount.providers.base import ProviderException

from apps.accounts.people.emails import checked_email
from apps.rest.errors import InvalidInput

_LONGEST_ISSUER = 500
_LONGEST_SUBJECT = 255
_LONGEST_NAME = 150


class ClaimsRefused(ProviderException):  # type: ignore[misc]
    """The provider's words let nobody in; the message goes on after the provider's name."""


@dataclass(frozen=True, kw_only=True)
class Vouched:
    """Who someone is at the provider."""

    issuer: str
    subject: str
    nonce: str
    name: str
    documents: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The ID token, and what the provider said when asked: each speaks for itself alone."""

    def email(self) -> str:
        """Return the address that a document tells and calls verified. Raises ClaimsRefused."""
        telling = [each for each in self.documents if each.get("email") not in (None, "")]
        if not telling:
            raise ClaimsRefused("told no e-mail address.")
        sure = [each for each in telling if each.get("email_verified") is True]
        email = _address(sure[0] if sure else telling[0])
        if not sure:
            raise ClaimsRefused(f"has not verified {email}.")
        return email


def vouched_in(data: Mapping[str, Any]) -> Vouched:
    """Return what an ID token and the provider's answer about the person say together.

    Raises ClaimsRefused.
    """
    token, more = data.get("id_token"), data.get("userinfo", {})
    if not isinstance(token, dict) or not isinstance(more, dict):
        raise ClaimsRefused("sent no ID token.")
    subject = _text(token, "sub", longest=_LONGEST_SUBJECT)
    if more and more.get("sub") != subject:
        raise ClaimsRefused("spoke of two people in one answer (`sub`).")
    return Vouched(
        issuer=_text(token, "iss", longest=_LONGEST_ISSUER),
        subject=subject,
        nonce=_text(token, "nonce", longest=_LONGEST_SUBJECT),
        name=_name(more.get("name")) or _name(token.get("name")),
        documents=(token, more),
    )


def _text(token: Mapping[str, Any], name: str, *, longest: int) -> str:
    value = token.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not value.isprintable():
        raise ClaimsRefused(
            f"sent an ID token whose `{name}` is no text of 1 to {longest} letters."
        )
    return value


def _address(document: Mapping[str, Any]) -> str:
    claim = document["email"]
    if not isinstance(claim, str):
        raise ClaimsRefused("told an e-mail address that is no text.")
    return _checked(claim)


def _name(claim: Any) -> str:
    if not isinstance(claim, str):
        return ""
    return "".join(each for each in claim if each.isprintable())[:_LONGEST_NAME]


def _checked(claim: str) -> str:
    try:
        return checked_email(claim)
    except InvalidInput as error:
        raise ClaimsRefused(f"told an address that cannot be used: {error.message}") from None
