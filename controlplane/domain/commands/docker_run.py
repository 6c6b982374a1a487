"""`docker run` (or podman, nerdctl): its own options apart from the image and what it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from controlplane.domain.commands.invocation import CommandContext
from controlplane.domain.commands.words import Word

_PROGRAMS = frozenset({"docker", "podman", "nerdctl"})
_SWITCHES = frozenset(
    {"--detach", "--disable-content-trust", "--init", "--interactive", "--no-healthcheck",
     "--no-hosts", "--oom-kill-disable", "--privileged", "--publish-all", "--quiet", "--read-only",
     "--replace", "--rm", "--rmi", "--sig-proxy", "--tls-verify", "--tty"}
)  # fmt: skip
_SHORT_SWITCHES = frozenset("dithPq")
_GPUS = "How many GPUs the config asks for is how many a replica gets."
_WHY = "An engine here runs without a container; the agent gives it its GPUs, memory and ports."


@dataclass(frozen=True, kw_only=True)
class Container:
    """The image, the words that it runs, and what was set around them."""

    image: str
    words: tuple[Word, ...]
    context: CommandContext


def read_docker_run(words: Sequence[Word]) -> Container | None:
    for index, word in enumerate(words[:-1]):
        if PurePosixPath(word.text).name not in _PROGRAMS:
            continue
        rest = words[index + 1 :]
        if rest[0].text == "container":
            rest = rest[1:]
        if rest and rest[0].text == "run":
            return _read(rest[1:])
    return None


def _read(words: Sequence[Word]) -> Container | None:
    options = _Options()
    position = 0
    while position < len(words) and words[position].text.startswith("-"):
        position += options.take(words[position], words[position + 1 : position + 2])
    if position >= len(words):
        return None
    return Container(
        image=words[position].text,
        words=(*options.entrypoint, *words[position + 1 :]),
        context=options.context(),
    )


@dataclass(kw_only=True)
class _Options:
    environment: dict[str, Word] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    gpus: int | None = None
    gpu_flag: str = ""
    entrypoint: tuple[Word, ...] = ()
    dropped: list[str] = field(default_factory=list)

    def take(self, word: Word, following: Sequence[Word]) -> int:
        flag, joined, _ = word.text.partition("=")
        if flag in _SWITCHES or (flag[:2] != "--" and set(flag[1:]) <= _SHORT_SWITCHES):
            return 1
        if not joined and flag[:2] != "--" and len(flag) > 2:
            self._set(flag[:2], word.after(2))
            return 1
        if joined:
            self._set(flag, word.after(len(flag) + 1))
            return 1
        if following:
            self._set(flag, following[0])
        return 2

    def _set(self, flag: str, value: Word) -> None:
        match flag:
            case "-e" | "--env":
                name, joined, _ = value.text.partition("=")
                open_value = Word(text=f"${name}", unknown=(f"${name}",))
                self.environment[name] = value.after(len(name) + 1) if joined else open_value
            case "-v" | "--volume":
                add_folder(self.folders, value.text)
            case "--mount":
                self._mount(value.text)
            case "--gpus":
                self.gpus = gpu_count(value.text)
                self.gpu_flag = f"{flag} {value.text}"
            case "--entrypoint":
                self.entrypoint = (value,)
            case _:
                self.dropped.append(flag)

    def _mount(self, text: str) -> None:
        pairs = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        source = pairs.get("source") or pairs.get("src")
        target = pairs.get("target") or pairs.get("dst") or pairs.get("destination")
        if source and target:
            self.folders[target.rstrip("/")] = source

    def context(self) -> CommandContext:
        return CommandContext(
            environment=self.environment,
            folders=self.folders,
            gpus=self.gpus,
            dropped=(
                *((flag, _WHY) for flag in dict.fromkeys(self.dropped)),
                *([(self.gpu_flag, _GPUS)] if self.gpu_flag else ()),
            ),
        )


def add_folder(folders: dict[str, str], text: str) -> None:
    """Add a volume `HOST:CONTAINER[:OPTIONS]`; a named volume has no folder on the host."""
    host, _, rest = text.partition(":")
    inside = rest.split(":", 1)[0].rstrip("/")
    if inside.startswith("/") and host.startswith(("/", "./", "../", "~")):
        folders[inside] = host


def gpu_count(text: str) -> int | None:
    """Return how many GPUs `2`, `device=0,1` or `"device=0,1"` asks for, or None for all."""
    text = text.strip("\"'")
    if text.isdecimal():
        return _bounded(int(text[:6]))
    if text.startswith("device="):
        return _bounded(len([one for one in text.removeprefix("device=").split(",") if one]))
    return None


def _bounded(count: int) -> int | None:
    return count if 0 < count <= 1024 else None
