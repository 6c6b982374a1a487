"""What the reference says of a block and of a field, as values."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ConfigField:
    path: str
    """Dotted, as findings and fixes write it."""
    kind: str
    default: str
    """As it would be written; empty where leaving it out means none."""
    limits: str
    words: str
    is_required: bool
    read_by: str
    rules: Sequence[str]
    """Codes of the rules that mark it, or that mark the whole block for it."""
    stack: str = ""
    """`v1` or `v2` where only that one has it."""

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def anchor(self) -> str:
        return f"{self.path}-{self.stack}" if self.stack else self.path

    def matches(self, words: Sequence[str]) -> bool:
        text = f"{self.path} {self.kind} {self.words} {self.read_by} {' '.join(self.rules)}".lower()
        return all(word in text for word in words)


@dataclass(frozen=True, kw_only=True)
class ConfigBlock:
    """One block of the file with its own fields; those of blocks within stand with them."""

    path: str
    """Empty for the top of the file."""
    stack: str
    words: str
    fields: Sequence[ConfigField]

    @property
    def title(self) -> str:
        stack = f" ({self.stack})" if self.stack else ""
        return f"{self.path or 'Top of the file'}{stack}"

    @property
    def anchor(self) -> str:
        stack = f"-{self.stack}" if self.stack else ""
        return f"block-{self.path}{stack}"
