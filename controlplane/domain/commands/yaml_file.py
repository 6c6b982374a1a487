"""A server's own YAML file, read within the same bounds as a config."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.spec.document import Document
from controlplane.domain.spec.text import read_text


def read_settings(text: str) -> Mapping[str, Any]:
    document = read_text(text)
    if isinstance(document, Document) and isinstance(document.data, Mapping):
        return document.data
    return {}
