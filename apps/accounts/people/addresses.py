"""What a person is known by, changed by an operator."""

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.accounts.people.emails import checked_email, normal_email
from apps.accounts.selectors import person_by_email
from apps.rest.errors import Conflict


@transaction.atomic
def person_set_email(*, user: User, email: str) -> None:
    """Give the person another address. Raises InvalidInput or Conflict."""
    email, old = checked_email(email), user.email
    if person_by_email(email).exclude(id=user.id).exists():
        raise Conflict(f"{email} belongs to someone else.", fields=["email"])
    User.objects.filter(id=user.id).update(email=email, normal_email=normal_email(email))
    user.email = email
    audit("person.set_email", user, team=None, before={"email": old}, after={"email": email})


@transaction.atomic
def single_sign_on_forget(*, user: User) -> int:
    """Let another account of the provider join; return how many were forgotten."""
    forgotten, _ = user.single_sign_ons.all().delete()
    audit("person.forget_single_sign_on", user, team=None, before={"accounts": forgotten})
    return forgotten
