"""Which of our people someone at the provider is: known by issuer and subject from then on."""

from django.conf import settings
from django.db import IntegrityError, transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import SingleSignOn, Team, TeamRole, User
from apps.accounts.people.emails import domain_of
from apps.accounts.people.members import member_add
from apps.accounts.selectors import person_by_email
from apps.accounts.signing_in.oidc.claims import ClaimsRefused, Vouched


def person_of(vouched: Vouched) -> User | None:
    """Return whom the provider vouches for, made if welcome. Raises ClaimsRefused."""
    joined = SingleSignOn.objects.filter(issuer=vouched.issuer, subject=vouched.subject)
    if identity := joined.select_related("user__team").first():
        return identity.user
    try:
        with transaction.atomic():
            return _joined(vouched)
    except IntegrityError:
        raise ClaimsRefused("let two people in at once; sign in again.") from None


def _joined(vouched: Vouched) -> User | None:
    email = vouched.email()
    user = person_by_email(email).select_related("team").first()
    if user is None and domain_of(email) in settings.OIDC_DOMAINS:
        user = _made(email, vouched.name)
    if user is None or not user.is_active:
        return None  # deactivated: the provider does not undo that
    if user.single_sign_ons.filter(issuer=vouched.issuer).exists():
        # Whoever gets a mailbox after someone does not get the account with it.
        raise ClaimsRefused(
            f"vouches for another account than the one that {email} came in with before. "
            f"An operator lets the new one in with `manage.py single_sign_on_forget {email}`."
        )
    SingleSignOn.objects.create(user=user, issuer=vouched.issuer, subject=vouched.subject)
    audit(
        "account.join_single_sign_on",
        user,
        team=None,
        actor=user,
        after={"issuer": vouched.issuer, "subject": vouched.subject},
    )
    return user


def _made(email: str, name: str) -> User:
    team = Team.objects.get(is_default=True)
    user = User(email=email, name=name, team=team)
    user.set_unusable_password()
    user.save()
    member_add(team=team, user=user, role=TeamRole.MEMBER)
    return user
