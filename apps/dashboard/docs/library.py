from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

from apps.dashboard.docs.markdown import html_of, title_of

INDEX = "index"
_NOT_SHOWN = ("site",)


@dataclass(frozen=True, kw_only=True)
class Document:
    path: str
    """Below `docs/`, without its ending."""
    title: str
    text: str

    @property
    def html(self) -> SafeString:
        return _html(self.path)


@cache
def documents() -> Mapping[str, Document]:
    """Return every document by its path; none where the folder was not installed."""
    folder = Path(settings.ROOT) / "docs"
    files = (each for each in sorted(folder.rglob("*.md")) if each.is_file())
    paths = [each.relative_to(folder) for each in files]
    return {
        str(path.with_suffix("")): _document(folder, path)
        for path in paths
        if path.parts[0] not in _NOT_SHOWN
    }


def _document(folder: Path, path: Path) -> Document:
    text = (folder / path).read_text(encoding="utf-8")
    return Document(path=str(path.with_suffix("")), title=title_of(text) or path.stem, text=text)


@cache
def _html(path: str) -> SafeString:
    text = documents()[path].text
    return mark_safe(html_of(text, page=path))  # nosec B308 B703 (our own, without raw HTML)
