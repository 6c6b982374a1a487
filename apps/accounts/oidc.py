"""Signing in through the organisation's OpenID Connect provider.

django-allauth speaks the protocol; who the person is to us is decided here, so that none of its
own pages is ever shown.
"""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect

from apps.accounts.models import Team, TeamRole, User
from apps.accounts.selectors import user_by_email
from apps.accounts.services.members import member_add
from apps.accounts.services.sign_ins import sign_in

PROVIDER = "oidc"


class OpenIdConnectAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Lets in whom the provider vouches for and we know, or whose domain is welcome."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Sign the person in. Always raises ImmediateHttpResponse."""
        user = sociallogin.user if sociallogin.is_existing else self._known(sociallogin)
        if not isinstance(user, User) or not user.is_active:
            raise _refused(request, _why(sociallogin))
        if not sociallogin.is_existing:
            sociallogin.user = user
            sociallogin.save(request, connect=True)
        sign_in(request=request, user=user, way=PROVIDER)
        raise ImmediateHttpResponse(redirect(sociallogin.get_redirect_url(request) or "/"))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        """Go back to the form with one sentence. Always raises ImmediateHttpResponse."""
        reason = type(exception).__name__ if exception else str(error or "no reason given")
        raise _refused(request, f"{settings.OIDC_NAME} did not sign you in ({reason}).")

    def _known(self, sociallogin: SocialLogin) -> User | None:
        """Return whom an address that the provider has verified belongs to, made if welcome."""
        email, verified = _address(sociallogin)
        if not verified:
            return None
        found = user_by_email(email)
        if found is not None or email.rpartition("@")[2].lower() not in settings.OIDC_DOMAINS:
            return found
        return _made(email, str(_claims(sociallogin).get("name", "")))


def _made(email: str, name: str) -> User | None:
    if User.objects.filter(email__iexact=email).exists():
        return None  # deactivated: the provider does not undo that
    team = Team.objects.get(is_default=True)
    user = User(email=email, name=name[:150], team=team)
    user.set_unusable_password()
    with transaction.atomic():
        user.save()
        member_add(team=team, user=user, role=TeamRole.MEMBER)
    return user


def _claims(sociallogin: SocialLogin) -> dict[str, Any]:
    data = sociallogin.account.extra_data or {}
    return {**data.get("id_token", {}), **data.get("userinfo", {})}


def _address(sociallogin: SocialLogin) -> tuple[str, bool]:
    claims = _claims(sociallogin)
    return str(claims.get("email", "")).strip(), claims.get("email_verified") in (True, "true")


def _why(sociallogin: SocialLogin) -> str:
    email, verified = _address(sociallogin)
    if not email:
        return f"{settings.OIDC_NAME} told no e-mail address."
    if not verified:
        return f"{settings.OIDC_NAME} has not verified {email}."
    return f"{email} has no account here. Ask an admin for an invitation."


def _refused(request: HttpRequest, sentence: str) -> ImmediateHttpResponse:
    messages.error(request, sentence)
    return ImmediateHttpResponse(redirect("accounts:sign_in"))
