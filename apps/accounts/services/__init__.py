"""Writes of people, keys and sign-ins."""

from apps.accounts.services.api_keys import MadeApiKey, api_key_create, api_key_revoke
from apps.accounts.services.bootstrap import Bootstrap, admin_bootstrap, admin_ensure
from apps.accounts.services.sign_in_links import (
    sign_in_link_create,
    sign_in_link_redeem,
    sign_in_link_url,
)
from apps.accounts.services.sign_ins import password_sign_in, sign_in, sign_out

__all__ = [
    "Bootstrap",
    "MadeApiKey",
    "admin_bootstrap",
    "admin_ensure",
    "api_key_create",
    "api_key_revoke",
    "password_sign_in",
    "sign_in",
    "sign_in_link_create",
    "sign_in_link_redeem",
    "sign_in_link_url",
    "sign_out",
]
