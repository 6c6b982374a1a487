"""Writing of answers: a lone surrogate that a caller sent is spelled out, not choked on."""

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import JSONRenderer


class AnyTextJSONRenderer(JSONRenderer):
    """The framework's renderer cannot encode half a pair of surrogates; JSON can spell it."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return super().render(data, accepted_media_type, renderer_context)
        except UnicodeEncodeError:
            return _SpelledOut().render(data, accepted_media_type, renderer_context)


class _SpelledOut(JSONRenderer):
    ensure_ascii = True
