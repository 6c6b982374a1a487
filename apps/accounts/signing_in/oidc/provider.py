"""How django-allauth speaks to the provider here: with a nonce, and as the operator says alone."""

import secrets
from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from django.http import HttpRequest, HttpResponse
from requests import RequestException

from apps.accounts.signing_in.oidc.claims import Vouched, vouched_in


class VouchedLogin(SocialLogin):  # type: ignore[misc]
    """Someone whom the provider vouches for; who that is here, the adapter says."""

    def __init__(self, vouched: Vouched, provider: OpenIDConnectProvider) -> None:
        account = SocialAccount(provider=provider.sub_id, uid=vouched.subject)
        super().__init__(account=account, provider=provider)
        self.vouched = vouched

    def lookup(self) -> None:
        """Do nothing: allauth knows accounts by their subject alone, whoever issued it."""


class OpenIdConnect(OpenIDConnectProvider):  # type: ignore[misc]
    """The protocol of allauth, less what an address could ask for."""

    def redirect(self, request: HttpRequest, process: str, **kwargs: Any) -> HttpResponse:
        """Return the way to the provider, with a nonce that its ID token must repeat."""
        nonce = secrets.token_urlsafe(32)
        params = {**(kwargs.pop("auth_params", None) or {}), "nonce": nonce}
        answer: HttpResponse
        try:
            answer = super().redirect(request, process, auth_params=params, nonce=nonce, **kwargs)
        except RequestException as away:
            answer = render_authentication_error(request, self, exception=away)
        return answer

    def get_auth_params_from_request(self, request: HttpRequest, action: str) -> dict[str, Any]:
        return dict(self.get_auth_params())

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        return list(self.get_scope())

    def sociallogin_from_response(
        self, request: HttpRequest, response: Mapping[str, Any]
    ) -> VouchedLogin:
        """Return who came back, unknown as yet. Raises ClaimsRefused."""
        return VouchedLogin(vouched_in(response), self)
