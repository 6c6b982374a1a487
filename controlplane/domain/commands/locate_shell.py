"""Shell text -> the serving command in it, through assignments, wrappers and containers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from controlplane.domain.commands.anchors import (
    find_server,
    is_trtllm_image,
    refusal_for,
    server_of_flags,
    server_of_image,
    shell_text,
)
from controlplane.domain.commands.docker_run import Container, read_docker_run
from controlplane.domain.commands.invocation import (
    MAX_COMMAND_BYTES,
    CommandContext,
    Invocation,
    RefusedCommandError,
)
from controlplane.domain.commands.shell import ShellTextError, read_commands
from controlplane.domain.commands.words import RawWord, SimpleCommand, Word, fill_in

MAX_WORDS = 1024
MAX_SHELLS = 3
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_DECLARES = frozenset({"export", "declare", "set", "local", "readonly", "typeset"})


def find_in_shell(
    text: str, *, context: CommandContext | None = None, depth: int = 0
) -> Invocation | None:
    """Return the first serving command in the text, or None.

    Raises RefusedCommandError for text that no shell could read.
    """
    try:
        commands = read_commands(text)
    except ShellTextError as error:
        raise RefusedCommandError(str(error), "Paste the command whole.") from None
    if sum(len(command.words) for command in commands) > MAX_WORDS:
        raise RefusedCommandError(f"The text holds more than {MAX_WORDS:,} words.")
    return _Search(context=context or CommandContext(), depth=depth).run(commands)


def find_in_words(
    words: Sequence[Word], *, context: CommandContext, image: str | None = None, depth: int = 0
) -> Invocation | None:
    if container := read_docker_run(words):
        return _in_container(container, context, depth)
    if located := find_server(words):
        server, start = located
        inline = assignments(words[:start])
        context = replace(context, environment={**context.environment, **inline})
        return Invocation(server=server, arguments=tuple(words[start:]), context=context)
    if (script := shell_text(words)) and depth < MAX_SHELLS:
        return find_in_shell(script.text, context=context, depth=depth + 1)
    if image and (of_image := server_of_image(image)):
        return Invocation(server=of_image, arguments=tuple(words), context=context)
    return None


def assignments(words: Iterable[Word]) -> dict[str, Word]:
    matches = ((_ASSIGNMENT.match(word.text), word) for word in words)
    return {match[1]: word.after(match.end()) for match, word in matches if match}


def _in_container(container: Container, outer: CommandContext, depth: int) -> Invocation | None:
    context = CommandContext(
        environment={**outer.environment, **container.context.environment},
        folders={**outer.folders, **container.context.folders},
        gpus=container.context.gpus or outer.gpus,
        files=outer.files,
        dropped=(*outer.dropped, *container.context.dropped),
    )
    located = find_in_words(container.words, context=context, image=container.image, depth=depth)
    if located is None and is_trtllm_image(container.image):
        raise RefusedCommandError(
            f"`{container.image[:80]}` is started without `trtllm-serve`.",
            "Paste the line with the `trtllm-serve` command in it.",
        )
    return located


@dataclass(kw_only=True)
class _Search:
    context: CommandContext
    depth: int
    variables: dict[str, str] = field(default_factory=dict)
    environment: dict[str, Word] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    filled: int = 0

    def run(self, commands: Sequence[SimpleCommand]) -> Invocation | None:
        seen: list[str] = []
        self._collect_files(commands)
        for command in commands:
            words = self._words(command)
            seen += [word.text for word in words]
            if self._only_assigns(words):
                self._assign(words)
            elif located := find_in_words(words, context=self._context(), depth=self.depth):
                return located
        return self._loose_flags(commands[-1:], seen)

    def _words(self, command: SimpleCommand) -> tuple[Word, ...]:
        return tuple(chain.from_iterable(self._fill(word) for word in command.words))

    def _fill(self, raw: RawWord) -> tuple[Word, ...]:
        words = fill_in(raw, self.variables)
        self.filled += sum(len(word.text) for word in words)
        if self.filled > 2 * MAX_COMMAND_BYTES:
            raise RefusedCommandError("With its variables filled in, the command is too long.")
        return words

    def _only_assigns(self, words: Sequence[Word]) -> bool:
        if words and words[0].text in _DECLARES:
            return True
        return bool(words) and all(_ASSIGNMENT.match(word.text) for word in words)

    def _assign(self, words: Sequence[Word]) -> None:
        for name, value in assignments(words).items():
            self.environment[name] = value
            if not value.unknown:
                self.variables[name] = value.text[:4096]

    def _collect_files(self, commands: Sequence[SimpleCommand]) -> None:
        """Keep what `cat > FILE <<EOF` and `tee FILE <<EOF` write."""
        for command in commands:
            if command.document is None:
                continue
            words = [word.text for word in self._words(command)]
            named = command.writes or (words[-1] if len(words) > 1 and words[0] == "tee" else None)
            if named:
                self.files[named] = command.document

    def _context(self) -> CommandContext:
        return replace(
            self.context,
            environment={**self.context.environment, **self.environment},
            files={**self.context.files, **self.files},
        )

    def _loose_flags(
        self, commands: Sequence[SimpleCommand], seen: Sequence[str]
    ) -> Invocation | None:
        """Return flags that stand without their program, as a container's `args` are copied."""
        if not commands or not seen or not seen[0].startswith("--"):
            return None
        words = tuple(chain.from_iterable(self._words(command) for command in commands))
        server = server_of_flags(words)
        if server is None:
            return None
        return Invocation(server=server, arguments=words, context=self._context())


def refuse_shell(text: str) -> RefusedCommandError:
    try:
        commands = read_commands(text)
    except ShellTextError as error:
        return RefusedCommandError(str(error), "Paste the command whole.")
    known: Mapping[str, str] = {}
    words = chain.from_iterable(command.words for command in commands)
    return refusal_for([word.text for raw in words for word in fill_in(raw, known)])
