"""What is drafted for: real source files and pages, changed with fixed seeds, as token ids."""

import random
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
SOURCE_BYTES = (6_000, 14_000)
FOREIGN_FILES = 20
Tokens = NDArray[np.int32]


@dataclass(frozen=True)
class Job:
    """One request: what the model reads, and what it answers."""

    prompt: Tokens
    answer: Tokens


class Texts:
    """Makes jobs of one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, files: int) -> None:
        self._tokenizer = tokenizer
        sources = _sources(files + FOREIGN_FILES)
        self._files, foreign = sources[:files], sources[files:]
        self._foreign = [line for text in foreign for line in text.splitlines(True) if line.strip()]

    def tokens(self, text: str) -> Tokens:
        return np.array(self._tokenizer.encode(text).ids, dtype=np.int32)

    def code_apply(self, edited: float) -> list[Job]:
        """Whole files with a share of their lines changed, as an editor applies an answer."""
        rng = random.Random(f"apply {edited}")
        return [self._job(text, self._edit(text, edited, rng)) for text in self._files]

    def refactor(self) -> list[Job]:
        """Three names of each file renamed throughout."""
        rng = random.Random("refactor")
        return [self._job(text, _rename(text, rng)) for text in self._files]

    def agent_loop(self) -> list[Job]:
        """A file read three times with an edit between, as tools answer it; the last is written."""
        rng = random.Random("agent")
        jobs = []
        for text in self._files[: len(self._files) // 2]:
            first = self._edit(text, 0.02, rng)
            jobs.append(self._job(f"{text}\n$ cat\n{first}\n", self._edit(first, 0.02, rng)))
        return jobs

    def extraction(self) -> list[Job]:
        """JSON made of the lines of a table in prose."""
        rng = random.Random("json")
        return [self._job(*_records(rng)) for _ in self._files]

    def quotation(self) -> list[Job]:
        """Answers that quote sentences of the pages shown, with words of their own between."""
        rng = random.Random("quote")
        pages = [page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))]
        return [self._job(*_quote(rng.sample(pages, 3), self._foreign, rng)) for _ in self._files]

    def chat(self) -> list[Job]:
        """A page that has nothing to do with the one before it."""
        pages = [page.read_text()[:6000] for page in sorted((ROOT / "docs").glob("*.md"))]
        return [self._job(pages[i], pages[i + 1]) for i in range(0, len(pages) - 1, 2)]

    def _job(self, shown: str, answered: str) -> Job:
        return Job(self.tokens(f"{shown}\n\nGive back the whole text.\n\n"), self.tokens(answered))

    def _edit(self, text: str, share: float, rng: random.Random) -> str:
        lines = text.splitlines(True)
        return "".join(part for line in lines for part in self._changed(line, share, rng))

    def _changed(self, line: str, share: float, rng: random.Random) -> Iterator[str]:
        kind = rng.random() / share
        if kind >= 1:
            yield line
        elif kind < 0.5:
            yield rng.choice(self._foreign)
        elif kind < 0.8:
            yield line
            yield from rng.choices(self._foreign, k=rng.randint(1, 4))


def _sources(count: int) -> list[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(path for path in library.glob("*/*.py") if "site-packages" not in path.parts)
    rng = random.Random(7)
    rng.shuffle(paths)
    fitting = (
        path.read_text(errors="ignore")
        for path in paths
        if SOURCE_BYTES[0] < path.stat().st_size < SOURCE_BYTES[1]
    )
    return [text for text, _ in zip(fitting, range(count), strict=False)]


def _rename(text: str, rng: random.Random) -> str:
    words = sorted({word for word in text.replace("(", " ").split() if word.isidentifier()})
    common = [word for word in words if text.count(word) > 4 and len(word) > 4]
    for word in rng.sample(common, min(3, len(common))):
        text = text.replace(word, f"{word}_of_the_request")
    return text


def _records(rng: random.Random) -> tuple[str, str]:
    shown, answered = [], []
    for number in range(40):
        name = f"host-{rng.randrange(10**6)}.region-{rng.randrange(9)}.example"
        size, state = rng.randrange(10**9), rng.choice(["ready", "failed", "waiting"])
        shown.append(f"{number + 1}. The machine {name} has {size} bytes free and is {state}.")
        answered.append(f'  {{"name": "{name}", "free_bytes": {size}, "state": "{state}"}}')
    return "\n".join(shown), "[\n" + ",\n".join(answered) + "\n]"


def _quote(pages: list[str], foreign: list[str], rng: random.Random) -> tuple[str, str]:
    lines = [line for page in pages for line in page.splitlines() if len(line) > 60]
    answered = [
        part for line in rng.sample(lines, 20) for part in (rng.choice(foreign), f"> {line}\n")
    ]
    return "\n".join(pages), "".join(answered)


TASKS: dict[str, Callable[[Texts], list[Job]]] = {
    "code_apply_1_percent": lambda texts: texts.code_apply(0.01),
    "code_apply_2_5_percent": lambda texts: texts.code_apply(0.025),
    "refactor": Texts.refactor,
    "json_extraction": Texts.extraction,
    "rag_quotation": Texts.quotation,
    "agent_loop": Texts.agent_loop,
    "chat": Texts.chat,
}
