"""The clock that leases go by."""

from django.db.models import DateTimeField, Func


class ClockTimestamp(Func):
    """The database's clock at this instant, also within a long transaction."""

    function = "clock_timestamp"
    output_field = DateTimeField()
