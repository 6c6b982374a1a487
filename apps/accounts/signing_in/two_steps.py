"""A code of an authenticator app as the second step of signing in, by django-otp."""

import logging
from base64 import b32encode
from dataclasses import dataclass

import segno
from django.db import transaction
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from apps.accounts.audit.recording import audit
from apps.accounts.hashing import new_recovery_code, recovery_code_kept
from apps.accounts.key_ring import KeyRingError
from apps.accounts.models import Authenticator, User
from apps.accounts.sealing import ring_as_it_is
from apps.rest.errors import Conflict, InvalidInput

RECOVERY_CODES = 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Enrolment:
    """What an authenticator app scans or what is typed into it, until a code confirms it."""

    qr_code: str
    """A `data:` address of an SVG image."""
    key: str


def has_two_steps(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, confirmed=True).exists())


@ring_as_it_is()
def two_steps_begin(*, user: User) -> Enrolment:
    """Return what to scan; the unconfirmed device of an earlier visit is used again.

    Raises Conflict where the second step is on.
    """
    if has_two_steps(user):
        raise Conflict("The second step is on already.")
    device, _ = Authenticator.objects.get_or_create(
        user=user, confirmed=False, defaults={"name": "Enginehouse"}
    )
    audit("account.begin_two_steps", user, team=None)
    return Enrolment(
        qr_code=segno.make(device.config_url).svg_data_uri(scale=4, dark="#000", light="#fff"),
        key=b32encode(device.bin_key).decode(),
    )


@ring_as_it_is()
def two_steps_confirm(*, user: User, code: str) -> list[str]:
    """Return the recovery codes, shown this once. Raises InvalidInput or Conflict."""
    device = Authenticator.objects.select_for_update().filter(user=user, confirmed=False).first()
    if device is None:
        raise Conflict("There is nothing to confirm.", hint="Begin again.")
    if not device.verify_token(_digits(code)):
        raise InvalidInput(
            "This code is not right.",
            fields=["code"],
            hint="Check that the phone's clock is right, and type the newest code.",
        )
    device.confirmed = True
    device.save(update_fields=["confirmed"])
    audit("account.confirm_two_steps", user, team=None)
    return _new_recovery_codes(user)


@transaction.atomic
def two_steps_end(*, user: User) -> None:
    """Ask the person for the password only, from now on."""
    Authenticator.objects.filter(user=user).delete()
    StaticDevice.objects.filter(user=user).delete()
    audit("account.end_two_steps", user, team=None)


@ring_as_it_is()  # before the row: whoever rotates comes from the ring to the row, too
def code_is_right(user: User, code: str) -> bool:
    """Return whether the code is the app's newest or an unused recovery code.

    No code works twice, and wrong ones make the next try wait.
    """
    apps = Authenticator.objects.select_for_update().filter(user=user, confirmed=True)
    recovery = StaticDevice.objects.select_for_update().filter(user=user, confirmed=True)
    return any(_is_right(device, _digits(code)) for device in apps) or any(
        device.verify_token(recovery_code_kept(code)) for device in recovery
    )


def _is_right(device: Authenticator, code: str) -> bool:
    try:
        return bool(device.verify_token(code))
    except KeyRingError as error:
        # The recovery codes let the person in all the same.
        _log.error("the seed of an authenticator app does not open: %s", error.message)
        return False


def _new_recovery_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery")
    codes = [new_recovery_code() for _ in range(RECOVERY_CODES)]
    device.token_set.bulk_create(
        StaticToken(device=device, token=recovery_code_kept(code)) for code in codes
    )
    return codes


def _digits(code: str) -> str:
    return code.replace(" ", "")
