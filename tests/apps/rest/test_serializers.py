"""What every request body refuses: an empty text is no value of a number, a date or a flag."""

from collections.abc import Iterator

import pytest
from rest_framework import serializers

from apps.rest.serializers import StrictSerializer
from controlplane import urls as _every_view  # noqa: F401  (defines every body)

_TAKES_NULL = (serializers.DecimalField, serializers.BooleanField, serializers.IntegerField)


def bodies(above: type[StrictSerializer] = StrictSerializer) -> Iterator[type[StrictSerializer]]:
    for each in above.__subclasses__():
        yield each
        yield from bodies(each)


@pytest.mark.parametrize("body", list(bodies()), ids=lambda body: body.__name__)
def test_an_empty_text_is_never_taken_for_none(body: type[StrictSerializer]) -> None:
    named = [name for name, field in body().fields.items() if isinstance(field, _TAKES_NULL)]
    reader = body(data=dict.fromkeys(named, ""))
    if named:
        assert not reader.is_valid()
        assert set(named) <= set(reader.errors)
