"""Serializers that say what they expect: an unknown field is an error with a suggestion."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from rest_framework import serializers

_TEXTS = (serializers.CharField, serializers.ChoiceField)
_EMPTY = "it is empty; give a value, or leave the field out."


class StrictSerializer(serializers.Serializer[Any]):
    """A request body or query: every field known, none ignored in silence."""

    def to_internal_value(self, data: Any) -> Any:
        is_object = isinstance(data, dict)
        unknown = self._unknown(data) if is_object else {}
        empty = self._empty(data) if is_object else {}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError(unknown | error.detail | empty) from None
        if unknown or empty:
            raise serializers.ValidationError(unknown | empty)
        return values

    def _unknown(self, data: dict[Any, Any]) -> dict[str, Any]:
        names = sorted(str(name) for name in set(data) - set(self.fields))
        return {
            name: serializers.ErrorDetail(unknown_field(name, self.fields), code="unknown_field")
            for name in names
        }

    def _empty(self, data: dict[Any, Any]) -> dict[str, Any]:
        """An empty text for what is no text: the framework takes it for null in some fields."""
        names = [name for name, field in self.fields.items() if not isinstance(field, _TEXTS)]
        return {
            name: serializers.ErrorDetail(_EMPTY, code="empty")
            for name in names
            if isinstance(data.get(name), str) and not data[name].strip()
        }


class PatternField(serializers.RegexField):
    """A text of one form; `says` is what is wrong with another, after the text itself."""

    def __init__(self, regex: str, *, says: str, **options: Any) -> None:
        super().__init__(regex, **options)
        self._says = says

    def run_validators(self, value: Any) -> None:
        try:
            super().run_validators(value)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(
                [self._error_detail(each, value) for each in error.detail]
            ) from None

    def _error_detail(self, detail: Any, value: Any) -> serializers.ErrorDetail:
        words = f"`{str(value)[:80]}` {self._says}" if detail.code == "invalid" else detail
        return serializers.ErrorDetail(words, code=detail.code)


def unknown_field(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    advice = f"did you mean `{close[0]}`?" if close else f"known are {_listed(known)}."
    return f"`{name}` is not a known field; {advice}"


def validated(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    """Return the data as the serializer reads it, or raise every error at once."""
    plain = data.dict() if hasattr(data, "dict") else data
    reader = serializer(data=plain)
    reader.is_valid(raise_exception=True)
    values: dict[str, Any] = reader.validated_data
    return values


class ErrorSource(serializers.Serializer[Any]):
    """Which document an error relies on."""

    document = serializers.CharField(help_text="The document, by its address or name.")
    section = serializers.CharField(help_text="The section of it.")
    checked = serializers.CharField(help_text="The day it was read last, as `2026-11-27`.")


class Error(serializers.Serializer[Any]):
    """The body of every answer that is not a success."""

    code = serializers.CharField(help_text="Permanent name of the kind of error.")
    message = serializers.CharField(help_text="What happened, in the values of the request.")
    fields = serializers.ListField(  # type: ignore[assignment]
        child=serializers.CharField(), help_text="Dotted paths of the fields at fault."
    )
    hint = serializers.CharField(allow_null=True, help_text="What to do next.")
    source = ErrorSource(
        allow_null=True, help_text="The document that the error rests on, where it rests on one."
    )  # type: ignore[assignment]
    details = serializers.DictField(
        required=False, help_text="What else a program needs to react; absent in most errors."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
