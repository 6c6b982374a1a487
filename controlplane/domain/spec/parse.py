"""Text, form or JSON -> a spec, or every error in it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from controlplane.domain.spec.contradictions import find_contradictions
from controlplane.domain.spec.document import Document
from controlplane.domain.spec.errors import Problem, SpecError
from controlplane.domain.spec.problems import at, describe
from controlplane.domain.spec.spec import Spec
from controlplane.domain.spec.text import read_data, read_text

_ABSENT_ENGINE = (
    "`trt_llm` is missing: it names the checkpoint and the engine's settings, and without it there "
    "is nothing to build."
)
_ABSENT_ENGINE_HINT = (
    "Add `trt_llm:` with `build:` and `checkpoint_repository:` (`source`, `repo`) in it."
)


@dataclass(frozen=True, kw_only=True)
class ParseResult:
    """A spec, or the errors that keep the text from being one; never both."""

    spec: Spec | None
    errors: tuple[SpecError, ...] = ()
    document: Document = field(default_factory=lambda: Document(data=None, marks={}), repr=False)

    def line_of(self, path: str) -> int | None:
        """Return the line of a dotted path, or of its nearest parent that is in the text."""
        mark = self.document.mark(tuple(path.split(".")))
        return mark.line if mark else None


def parse_text(text: str) -> ParseResult:
    """Return the spec in YAML or JSON text, or every error with its line."""
    return _parse(read_text(text))


def parse_mapping(data: Mapping[str, Any]) -> ParseResult:
    """Return the spec in data from a form or a request body, or every error."""
    return _parse(read_data(data))


def _parse(document: Document | SpecError) -> ParseResult:
    if isinstance(document, SpecError):
        return ParseResult(spec=None, errors=(document,))
    if not isinstance(document.data, Mapping):
        message = "The file is empty." if document.data is None else "The file is not a mapping."
        error = SpecError(path="", message=message, hint=_ABSENT_ENGINE_HINT)
        return ParseResult(spec=None, errors=(error,), document=document)
    spec, errors = _validate(document)
    errors.sort(key=lambda error: (error.line or 0, error.column or 0))
    if errors:
        return ParseResult(spec=None, errors=tuple(errors), document=document)
    return ParseResult(spec=spec, document=document)


def _validate(document: Document) -> tuple[Spec | None, list[SpecError]]:
    data, errors = dict(document.data), list(document.errors)
    stack = _stack(data)
    spec = None
    if data.get("trt_llm") is None:
        errors.append(
            at(document, ("trt_llm",), _ABSENT_ENGINE, Problem.MISSING, hint=_ABSENT_ENGINE_HINT)
        )
        data.pop("trt_llm", None)
    try:
        spec = Spec.model_validate(data)
    except ValidationError as failure:
        found = describe(failure, document, stack=stack)
        errors += [error for error in found if error.path != "trt_llm" or "trt_llm" in data]
    taken = {error.path for error in errors}
    errors += [
        error for error in find_contradictions(document, stack=stack) if error.path not in taken
    ]
    return spec, errors


def _stack(data: Mapping[str, Any]) -> str:
    engine = data.get("trt_llm")
    return "v2" if isinstance(engine, Mapping) and engine.get("inference_stack") == "v2" else "v1"
