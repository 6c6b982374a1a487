"""REST objects that the fields of a record tell, so that no shape stands twice."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from rest_framework import serializers

Field = serializers.Field[Any, Any, Any, Any]
_PLAIN: Mapping[Any, type[Field]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
    Any: serializers.JSONField,
}


class RecordObject(serializers.Serializer[Any]):
    """Answers what is stored of a record."""

    record: ClassVar[type[BaseModel]]

    def get_fields(self) -> dict[str, Field]:
        stored = {
            name: _field(each.annotation, help_text=each.description, required=each.is_required())
            for name, each in self.record.model_fields.items()
            if not each.exclude
        }
        computed = {
            name: _field(each.return_type, help_text=each.description)
            for name, each in self.record.model_computed_fields.items()
        }
        return {**stored, **computed}


@cache
def object_of(record: type[BaseModel]) -> type[RecordObject]:
    words = {"record": record, "__doc__": record.__doc__}
    return type(f"{record.__name__}Object", (RecordObject,), words)


def _field(kind: Any, **options: Any) -> Field:
    """Return the field of a type such as `tuple[Estimate, ...]` or `str | None`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _field(parts[0], **options)
    if origin in (Union, UnionType):
        (known,) = (each for each in parts if each is not NoneType)
        return _field(known, allow_null=True, **options)
    if origin is Literal:
        return serializers.ChoiceField(choices=list(parts), **options)
    if origin is tuple:
        return _many(parts[0], **options)
    if origin is Mapping:
        return serializers.DictField(child=_field(parts[1]), **options)
    return _one(kind, **options)


def _many(kind: Any, **options: Any) -> Field:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return object_of(kind)(many=True, **options)
    return serializers.ListField(child=_field(kind), **options)


def _one(kind: Any, **options: Any) -> Field:
    if kind in _PLAIN:
        return _PLAIN[kind](**options)
    if issubclass(kind, Enum):
        return serializers.ChoiceField(choices=[each.value for each in kind], **options)
    return object_of(kind)(**options)
