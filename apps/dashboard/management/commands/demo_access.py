"""`manage.py demo_access`: the API key and the sign-in link that the demonstration prints."""

import json
from typing import Any

from django.db import transaction

from apps.accounts.commands import AuditedCommand
from apps.accounts.keys.services import api_key_create, api_key_revoke
from apps.accounts.models import ApiKey, ApiKeyType, User
from apps.accounts.services.bootstrap import admin_bootstrap
from apps.accounts.signing_in.links import sign_in_link_create, sign_in_link_url

_KEY_NAME = "demo"


class Command(AuditedCommand):
    help = "Print a fresh API key and sign-in link as JSON; the last demonstration's key ends."

    def handle(self, *args: Any, **options: Any) -> None:
        admin = admin_bootstrap().admin
        access = {
            "api_key": _fresh_key(admin),
            "sign_in_link": sign_in_link_url(sign_in_link_create(user=admin)),
        }
        self.stdout.write(json.dumps(access))


@transaction.atomic
def _fresh_key(admin: User) -> str:
    for key in ApiKey.objects.filter(name=_KEY_NAME, owner=admin, revoked_at=None):
        api_key_revoke(api_key=key)
    made = api_key_create(team=admin.team, owner=admin, type=ApiKeyType.PERSONAL, name=_KEY_NAME)
    return made.text
