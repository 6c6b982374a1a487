from functools import cache
from typing import Any

from django import template
from django.template.loader import render_to_string

from apps.configs.form_controls import FieldView
from apps.configs.form_fields import Field

register = template.Library()


@register.simple_tag(takes_context=True)
def setting(context: dict[str, Any], view: FieldView) -> str:
    """Return a setting's control; one that says nothing of its own is made once for all."""
    if view.is_plain:
        return _plain(view.field)
    return _made(view, context.get("check_url", ""))


@cache
def _plain(field: Field) -> str:
    return _made(FieldView(field=field, value="", choices=field.choices), "")


def _made(view: FieldView, check_url: str) -> str:
    return render_to_string("configs/_field.html", {"view": view, "check_url": check_url})
