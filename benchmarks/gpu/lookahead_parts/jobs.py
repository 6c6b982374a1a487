"""What is asked: recorded answers with their prompts, and prompts that a small model copies."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.gpu.lookahead_parts.asking import Asked
from benchmarks.lookahead_parts.texts import ROOT, Job, Texts

FILES = 8
EDITED = 0.01
COPY_CHARACTERS = 1600
COPIED_TOKENS = 384
HINT_WORDS = 12


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """Files given back with 1 % of their lines changed, one unchanged, and a text of its own."""

    edited: list[Asked]
    verbatim: Asked
    unlike: Asked

    def write(self, path: Path) -> None:
        """Write all prompts and answers for the sampler."""
        everything = [*self.edited, self.verbatim, self.unlike]
        path.write_text(json.dumps([(each.prompt, each.answer) for each in everything]))


def recorded_jobs(tokenizer: Path) -> Jobs:
    """Return the same jobs in every run, as token ids of this tokenizer."""
    texts = Texts(Tokenizer.from_file(str(tokenizer / "tokenizer.json")), files=FILES + 1)
    edited = texts.code_apply(EDITED)
    shown = texts.code_apply(1e-9)[FILES]  # no line of it is changed
    return Jobs(
        edited=[_asked(each) for each in edited[:FILES]],
        verbatim=_asked(shown),
        unlike=_asked(texts.chat()[0]),
    )


def _asked(job: Job) -> Asked:
    return Asked(prompt=job.prompt.tolist(), answer=job.answer.tolist())


def _copies() -> list[Asked]:
    pages = [ROOT / "docs" / f"{name}.md" for name in ("architecture", "gateway", "keys_and_usage")]
    return [_copy(page.read_text()[:COPY_CHARACTERS]) for page in pages if page.exists()]


def _copy(text: str) -> Asked:
    hint = " ".join(text.split()[:HINT_WORDS])
    prompt: Any = f"Repeat the text word for word.\n\n{text}\n\nRepeated:\n\n{hint}"
    return Asked(prompt=prompt, answer=[], tokens=COPIED_TOKENS)


COPIES = _copies()
