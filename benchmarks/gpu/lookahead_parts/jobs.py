"""What is asked: recorded answers with their prompts, and prompts that a small model copies.

    python -m benchmarks.gpu.lookahead_parts.jobs FILE TOKENIZER_FOLDER

writes them for a host that has neither Python's library in the same version nor these pages.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.gpu.lookahead_parts.asking import Asked

ROOT = Path(__file__).resolve().parents[3]
FILES = 8
EDITED = 0.01
UNEDITED = 1e-9
COPY_CHARACTERS = 1600
COPIED_TOKENS = 384
HINT_WORDS = 12
COPIED_PAGES = ("architecture", "gateway", "keys_and_usage")


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """Files given back with 1 % of their lines changed, one unchanged, a new text, and copies."""

    edited: list[Asked]
    verbatim: Asked
    unlike: Asked
    copies: list[Asked]

    def write_answers(self, path: Path) -> None:
        """Write all prompts and recorded answers for the sampler."""
        everything = [*self.edited, self.verbatim, self.unlike]
        path.write_text(json.dumps([(each.prompt, each.answer) for each in everything]))

    def write(self, path: Path) -> None:
        """Write all of it."""
        path.write_text(json.dumps({
            "edited": [vars(each) for each in self.edited], "verbatim": vars(self.verbatim),
            "unlike": vars(self.unlike), "copies": [vars(each) for each in self.copies],
        }))  # fmt: skip

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return what `write` wrote."""
        found = json.loads(path.read_text())
        return cls(
            edited=[Asked(**each) for each in found["edited"]], verbatim=Asked(**found["verbatim"]),
            unlike=Asked(**found["unlike"]), copies=[Asked(**each) for each in found["copies"]],
        )  # fmt: skip


def recorded_jobs(tokenizer: Path) -> Jobs:
    """Return jobs as token ids of this tokenizer, the same on every run of one host."""
    from tokenizers import Tokenizer

    from benchmarks.lookahead_parts.texts import Texts

    texts = Texts(Tokenizer.from_file(str(tokenizer / "tokenizer.json")), files=FILES + 1)
    return Jobs(
        edited=[_asked(each) for each in texts.code_apply(EDITED)[:FILES]],
        verbatim=_asked(texts.code_apply(UNEDITED)[FILES]),
        unlike=_asked(texts.chat()[0]),
        copies=[_copy(ROOT / "docs" / f"{page}.md") for page in COPIED_PAGES],
    )


def _asked(job: Any) -> Asked:
    return Asked(prompt=job.prompt.tolist(), answer=job.answer.tolist())


def _copy(page: Path) -> Asked:
    text = page.read_text()[:COPY_CHARACTERS]
    hint = " ".join(text.split()[:HINT_WORDS])
    prompt = f"Repeat the text word for word.\n\n{text}\n\nRepeated:\n\n{hint}"
    return Asked(prompt=prompt, answer=[], tokens=COPIED_TOKENS)


if __name__ == "__main__":
    recorded_jobs(Path(sys.argv[2])).write(Path(sys.argv[1]))
