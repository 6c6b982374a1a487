"""Where a Prometheus finds what to scrape, in the form of its `http_sd_configs`."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from apps.accounts.models import Team
from apps.fleet.selectors import gateways_live

_THIS_MACHINE = ("127.0.0.1", "::1", "localhost", "")
_PORTS = {"http": 80, "https": 443}


def scrape_targets(*, team: Team) -> Sequence[dict[str, Any]]:
    """Return the web host, and for the default team, whose installation it is, the gateways."""
    return [
        _target("control_plane", urlsplit(settings.PUBLIC_URL), name="web"),
        *(_gateways() if team.is_default else ()),
    ]


def _gateways() -> Iterator[dict[str, Any]]:
    """Give those that live; all listen on one port, and one at home is where web reaches it.

    Several processes of a host are one target: whichever is asked tells of all.
    """
    reached = urlsplit(settings.GATEWAY_INTERNAL_URL)
    given = set()
    for gateway in gateways_live().order_by("name"):
        at_home = gateway.address in _THIS_MACHINE
        host = reached.hostname or "" if at_home else gateway.address
        host = f"[{host}]" if ":" in host else host
        url = reached._replace(netloc=f"{host}:{reached.port or _PORTS[reached.scheme]}")
        if url not in given:
            given.add(url)
            yield _target("gateway", url, name=gateway.name)


def _target(part: str, url: Any, *, name: str) -> dict[str, Any]:
    address = url.netloc if url.port else f"{url.netloc}:{_PORTS[url.scheme]}"
    labels = {
        "__scheme__": url.scheme,
        "__meta_enginehouse_part": part,
        "__meta_enginehouse_name": name,
    }
    return {"targets": [address], "labels": labels}
