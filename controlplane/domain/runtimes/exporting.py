"""A config's text -> the words of another program, with everything that gets lost said."""

from enum import StrEnum
from typing import Any

from controlplane.domain.commands.report import ConfigExport
from controlplane.domain.dotted import value_at
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec, SpecError, parse_text, write_yaml
from controlplane.domain.spec.document import Document, Unreadable
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml
from controlplane.domain.spec.text import read_text

FILE_NAME = "config.yaml"
_BLOCK = "enginehouse"
_METADATA_BLOCK = "model_metadata.enginehouse"


class ExportFormat(StrEnum):
    VLLM = "vllm"
    TRTLLM = "trtllm"
    TRUSS = "truss"
    ENGINEHOUSE = "enginehouse"


USUAL_FORMAT = ExportFormat.VLLM


class NotAConfigError(ValueError):
    """The text does not parse, so there is nothing to write; `errors` says why."""

    def __init__(self, errors: tuple[SpecError, ...]) -> None:
        super().__init__(errors[0].message if errors else "The text is not a config.")
        self.errors = errors


def export_config(text: str, format: ExportFormat) -> ConfigExport:
    """Return the config in the wanted words. Raises NotAConfigError."""
    parsed = parse_text(text)
    if parsed.spec is None:
        raise NotAConfigError(parsed.errors)
    match format:
        case ExportFormat.VLLM | ExportFormat.TRTLLM:
            return _of_runtime(format.value, parsed.spec)
        case ExportFormat.TRUSS:
            return _moved(text, parsed.spec, format, source=_BLOCK, target=_METADATA_BLOCK)
        case ExportFormat.ENGINEHOUSE:
            return _moved(text, parsed.spec, format, source=_METADATA_BLOCK, target=_BLOCK)


def _of_runtime(name: str, spec: Spec) -> ConfigExport:
    exporter = RUNTIMES[name].command_exporter
    if exporter is None:
        raise LookupError(f"`{name}` has no command that a config is written as.")
    return exporter.export(spec)


def _moved(
    text: str, spec: Spec, format: ExportFormat, *, source: str, target: str
) -> ConfigExport:
    """Return the text with our own block where the reader expects it; comments and order stay."""
    block = _at(read_text(text), source)
    if block is not None:
        try:
            text = edit_yaml(text, {source: None, target: block})
        except UneditableTextError:
            text = edit_yaml(write_yaml(spec), {source: None, target: block})
    return ConfigExport(format=format.value, text=text, files={FILE_NAME: text})


def _at(document: Document | Unreadable, path: str) -> Any:
    return value_at(document.data, path) if isinstance(document, Document) else None
