"""Markdown of ours -> HTML: tables, headings that can be linked to, no links out of `docs/`."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import normpath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.ui.formats import spaced

_NO_WORD = re.compile(r"[^\w\- ]")
_BREAK = re.compile(r"<br ?/?>")


def html_of(text: str, *, page: str) -> str:
    """Return the HTML of a page, whose path below `docs/` its links are relative to."""
    tokens = _parser().parse(text)
    _name_headings(tokens)
    for token in tokens:
        token.children = _children(token.children or [], PurePosixPath(page).parent)
    html = str(_parser().renderer.render(tokens, _parser().options, {}))
    # A narrow window scrolls them, which keys have to reach.
    return html.replace("<pre>", '<pre tabindex="0">')


def title_of(text: str) -> str:
    heading = next((line for line in text.splitlines() if line.startswith("# ")), "# ")
    return heading[2:].replace("`", "").strip()


@cache
def _parser() -> MarkdownIt:
    # Without raw HTML: it would be shown as text, and `<secret>` is meant so.
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _name_headings(tokens: Sequence[Token]) -> None:
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _slug(inside.content))


def _slug(words: str) -> str:
    """Return what links of GitHub and of our site call the heading."""
    return _NO_WORD.sub("", words.lower()).replace(" ", "-")


def _children(children: list[Token], folder: PurePosixPath) -> list[Token]:
    """Return them with links that lead somewhere here, and with line breaks in cells."""
    kept: list[Token] = []
    is_dropped = False
    for token in children:
        if token.type == "link_open":
            href = str(token.attrGet("href") or "")
            is_dropped = not _leads_here(href, folder)
            token.attrSet("href", _as_page(href))
        if is_dropped and token.type in ("link_open", "link_close"):
            continue
        kept.extend(_with_breaks(token))
    return kept


def _leads_here(href: str, folder: PurePosixPath) -> bool:
    if href.startswith(("#", "https://", "http://")):
        return True
    path = normpath(folder / href.partition("#")[0])
    return path.endswith(".md") and not path.startswith("..")


def _as_page(href: str) -> str:
    if href.startswith("http"):
        return href
    path, mark, heading = href.partition("#")
    return f"{path.removesuffix('.md')}.html{mark}{heading}" if path else href


def _with_breaks(token: Token) -> list[Token]:
    if token.type != "text":
        return [token]
    token.content = spaced(token.content)
    if "<br" not in token.content:
        return [token]
    tokens: list[Token] = []
    for number, part in enumerate(_BREAK.split(token.content)):
        if number:
            tokens.append(Token("hardbreak", "br", 0))
        tokens.append(Token("text", "", 0, content=part))
    return tokens
