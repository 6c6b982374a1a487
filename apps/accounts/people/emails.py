"""The one form in which an e-mail address is counted, looked up, invited and compared."""

import unicodedata
from typing import NoReturn

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from apps.rest.errors import InvalidInput

LONGEST_EMAIL = 254


def normal_email(email: str) -> str:
    """Return the normal form of an address: NFKC, case-folded here and not by a database."""
    while (folded := _folded(email)) != email:
        email = folded
    return email


def checked_email(email: str) -> str:
    """Return the address as it is written, if one may be stored. Raises InvalidInput."""
    email = email.strip()
    if len(email) > LONGEST_EMAIL or not email.isprintable():
        _refuse(f"An e-mail address has at most {LONGEST_EMAIL} printable characters.")
    if email.count("@") != 1:
        _refuse(f"`{email}` is no e-mail address: it needs one `@`.")
    local, _, domain = email.partition("@")
    if not domain.isascii():
        _refuse(
            f"The domain of `{email}` has letters beyond ASCII.",
            hint="Write the form that begins with `xn--`, as the name server has it.",
        )
    if not local.isascii():
        _check_beyond_ascii(email, local)
    _check_form(email, local, domain)
    return email


def domain_of(email: str) -> str:
    return normal_email(email).rpartition("@")[2]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _check_beyond_ascii(email: str, local: str) -> None:
    if not settings.NON_ASCII_EMAILS:
        _refuse(
            f"`{email}` has letters beyond ASCII before the `@`.",
            hint="They can look like another address; the operator allows them with "
            "NON_ASCII_EMAILS.",
        )
    for each in local:
        # `ß` would be the mailbox of `ss`, `ſ` that of `s`.
        if not each.isascii() and any(part.isascii() for part in normal_email(each)):
            _refuse(f"`{email}` cannot be told from another address: `{each}` folds into ASCII.")


def _check_form(email: str, local: str, domain: str) -> None:
    plain = "".join("x" if _is_letter(each) else each for each in local)
    try:
        # Django's own pattern ignores case, and so takes `ı` and `ſ` for letters of ASCII.
        validate_email(f"{plain}@{domain}")
    except ValidationError:
        _refuse(f"`{email}` is no e-mail address.")


def _is_letter(each: str) -> bool:
    return not each.isascii() and unicodedata.category(each)[0] in "LMN"


def _refuse(sentence: str, hint: str | None = None) -> NoReturn:
    raise InvalidInput(sentence, fields=["email"], hint=hint)
