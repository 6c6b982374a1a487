from decimal import Decimal

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.fleet.models import DevicePrice
from apps.fleet.selectors import prices_now
from controlplane import clock


@transaction.atomic
def price_set(*, kind: str, per_hour: Decimal, user: User | None) -> DevicePrice:
    """Return the price of that kind from the present hour on; earlier hours keep theirs."""
    before = prices_now().get(kind)
    price = DevicePrice.objects.create(
        kind=kind,
        per_hour=per_hour,
        since=clock.now().replace(minute=0, second=0, microsecond=0),
        set_by=user.email if user else "",
    )
    audit(
        "price.set",
        price,
        team=None,
        before={"per_hour": str(before.per_hour) if before else None},
        after={"per_hour": str(per_hour)},
    )
    return price
