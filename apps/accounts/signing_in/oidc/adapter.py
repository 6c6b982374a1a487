"""Who the person is to us whom the provider vouches for.

django-allauth speaks the protocol; none of its own pages is ever shown.
"""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare

from apps.accounts.models import User
from apps.accounts.signing_in.oidc.claims import ClaimsRefused, Vouched
from apps.accounts.signing_in.oidc.joining import person_of
from apps.accounts.signing_in.oidc.provider import VouchedLogin
from apps.accounts.signing_in.services import sign_in

PROVIDER = "oidc"


class OpenIdConnectAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Lets in whom the provider vouches for and we know, or whose domain is welcome."""

    def pre_social_login(self, request: HttpRequest, sociallogin: VouchedLogin) -> None:
        """Sign the person in. Always raises ImmediateHttpResponse."""
        try:
            user = _known(sociallogin.vouched, request_user=sociallogin.state.get("nonce"))
        except ClaimsRefused as refusal:
            raise _refused(request, f"{settings.OIDC_NAME} {refusal}") from None
        if user is None or not user.is_active:
            raise _refused(request, _unknown(sociallogin.vouched))
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
        if isinstance(exception, ClaimsRefused):
            raise _refused(request, f"{settings.OIDC_NAME} {exception}")
        reason = type(exception).__name__ if exception else str(error or "no reason given")
        raise _refused(request, f"{settings.OIDC_NAME} did not sign you in ({reason}).")


def _known(vouched: Vouched, *, request_user: object) -> User | None:
    if not isinstance(request_user, str) or not constant_time_compare(request_user, vouched.nonce):
        raise ClaimsRefused("answered another sign-in than yours (`nonce`).")
    return person_of(vouched)


def _unknown(vouched: Vouched) -> str:
    try:
        return f"{vouched.email()} has no account here. Ask an admin for an invitation."
    except ClaimsRefused:
        return "Your account here is deactivated. Ask an admin."


def _refused(request: HttpRequest, sentence: str) -> ImmediateHttpResponse:
    messages.error(request, sentence)
    return ImmediateHttpResponse(redirect("accounts:sign_in"))
