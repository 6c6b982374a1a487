"""The version of the routes that gateways hold: grown in the changing transaction, nudged after."""

import logging

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import F

from apps.accounts.models import RoutesVersion

CHANNEL = "routes_version"
_log = logging.getLogger(__name__)


def routes_version_bump() -> int:
    """Return the version that this transaction's changes will be known by."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("The routes version grows in the transaction that changes a route.")
    if not RoutesVersion.objects.filter(id=1).update(version=F("version") + 1):
        RoutesVersion.objects.create(id=1)
    version = routes_version_current()
    transaction.on_commit(lambda: _nudge(version))
    return version


def routes_version_current() -> int:
    """Return the present version."""
    return RoutesVersion.objects.values_list("version", flat=True).filter(id=1).first() or 0


def _nudge(version: int) -> None:
    # Gateways poll as well: a broker that is away costs a second, not a change.
    try:
        with redis.from_url(
            settings.BROKER_URL, socket_connect_timeout=1, socket_timeout=1
        ) as client:
            client.publish(CHANNEL, version)
    except redis.RedisError as error:
        _log.warning("routes version %s was not announced: %s", version, error)
