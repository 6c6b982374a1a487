"""Text, form or JSON -> a spec, or every error in it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from controlplane.domain.facts.sources import enginehouse
from controlplane.domain.spec.contradictions import find_contradictions
from controlplane.domain.spec.document import Document, Mark, Unreadable
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

_CUSTOM_CODE_FIELDS = (
    "model_class_name", "model_class_filename", "model_module_dir", "docker_server", "base_image",
    "requirements", "requirements_file", "system_packages", "python_version",
)  # fmt: skip
"""Settings of a Truss by which it runs Python or a server of its own."""
_NO_CODE = (
    "that this is a model with code of its own (`model.py` or a container), and no code of a "
    "config runs here. Name the checkpoint that it loads, and call the endpoint from that code; or "
    "run it elsewhere."
)
_OURS = enginehouse("Reading a config")


@dataclass(frozen=True, kw_only=True)
class ParseResult:
    """A spec, or the errors that keep the text from being one; never both."""

    spec: Spec | None
    errors: tuple[SpecError, ...] = ()
    document: Document = field(default_factory=lambda: Document(data=None, marks={}), repr=False)

    @property
    def data(self) -> Mapping[str, Any] | None:
        """What the text says as plain data, None while it is not one mapping."""
        data = self.document.data
        return data if isinstance(data, Mapping) else None

    def place_of(self, path: str) -> Mark | None:
        return self.document.mark(tuple(path.split(".")))


def parse_text(text: str) -> ParseResult:
    return _parse(read_text(text))


def parse_mapping(data: Mapping[str, Any]) -> ParseResult:
    return _parse(read_data(data))


def _parse(document: Document | Unreadable) -> ParseResult:
    if isinstance(document, Unreadable):
        return ParseResult(spec=None, errors=(*document.errors, *_beyond(document.mended)))
    if not isinstance(document.data, Mapping):
        return ParseResult(spec=None, errors=(_no_mapping(document),), document=document)
    spec, errors = _validate(document)
    if errors:
        errors.sort(key=_place)
        return ParseResult(spec=None, errors=tuple(errors), document=document)
    return ParseResult(spec=spec, document=document)


def _beyond(mended: Document | None) -> tuple[SpecError, ...]:
    """Return what else is wrong; what is missing may be so only because of the slip.

    Without fixes: a text that cannot be read cannot be edited either.
    """
    errors = _parse(mended).errors if mended else ()
    present = (error for error in errors if error.problem is not Problem.MISSING)
    return tuple(replace(error, patch=None) for error in present)


def _place(error: SpecError) -> tuple[int, int]:
    return error.line or 0, error.column or 0


def _no_mapping(document: Document) -> SpecError:
    start = document.start or Mark(line=1, column=1)
    return SpecError(
        path="",
        message="The file is empty." if document.data is None else "The file is not a mapping.",
        line=start.line,
        column=start.column,
        hint=_ABSENT_ENGINE_HINT,
        source=_OURS,
    )


def _validate(document: Document) -> tuple[Spec | None, list[SpecError]]:
    data, errors = dict(document.data), list(document.errors)
    stack = _stack(data)
    spec = None
    if data.get("trt_llm") is None:
        errors.append(
            at(
                document,
                ("trt_llm",),
                _absent_engine(data),
                Problem.MISSING,
                hint=_ABSENT_ENGINE_HINT,
                source=_OURS,
            )
        )
        data.pop("trt_llm", None)
    try:
        spec = Spec.model_validate(data)
    except ValidationError as failure:
        problems = describe(failure, document, stack=stack)
        errors += [error for error in problems if error.path != "trt_llm" or "trt_llm" in data]
    meant = {path for error in errors if error.patch for path, value in error.patch.items()
             if value is not None}  # fmt: skip
    errors = [
        error for error in errors if error.problem is not Problem.MISSING or error.path not in meant
    ]
    taken = {error.path for error in errors}
    errors += [
        error for error in find_contradictions(document, stack=stack) if error.path not in taken
    ]
    return spec, errors


def _absent_engine(data: Mapping[str, Any]) -> str:
    """Return what is missing; of a Truss with code or a server of its own, that it cannot run."""
    own = [name for name in _CUSTOM_CODE_FIELDS if data.get(name) is not None]
    if not own:
        return _ABSENT_ENGINE
    named = ", ".join(f"`{name}`" for name in own)
    return f"{_ABSENT_ENGINE} {named} {'says' if len(own) == 1 else 'say'} {_NO_CODE}"


def _stack(data: Mapping[str, Any]) -> str:
    engine = data.get("trt_llm")
    return "v2" if isinstance(engine, Mapping) and engine.get("inference_stack") == "v2" else "v1"
