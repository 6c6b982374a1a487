"""The first samples of a data set as a model will see them.

python -m workers.build_steps.calibration.preview --dataset NAME --model FOLDER
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.sources import SourceOptions
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.samples import SHORTEST_TOKENS, Counts, Sample, usable_samples
from workers.build_steps.calibration.texts import Texts
from workers.build_steps.failures import StepFailure

COUNT = 5
LONGEST_SHOWN = 6_000
"""Characters of a sample that a page is given."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    samples: tuple[dict[str, Any], ...]
    column: str
    identity: dict[str, Any]
    counts: Counts

    def to_json(self) -> dict[str, Any]:
        """Return the form that pages are given; the texts are the user's and not escaped."""
        return {
            "dataset": self.identity,
            "column": self.column,
            "samples": list(self.samples),
            "shortest_tokens": SHORTEST_TOKENS,
            **self.counts.to_json(),
        }


def preview(
    name: str, tokenizer: Any, *, places: Places, max_length: int, count: int = COUNT
) -> Preview:
    """Return the first `count` usable samples, decoded again; raises StepFailure."""
    dataset = OpenDataset(name, places)
    texts = Texts(name, tokenizer, known_column=dataset.column)
    counts = Counts()
    usable = list(usable_samples(dataset, texts, counts, count=count, max_length=max_length))
    return Preview(
        samples=tuple(shown_samples(usable, tokenizer)),
        column=texts.column,
        identity=dataset.identity.model_dump(),
        counts=counts,
    )


def shown_samples(samples: Sequence[Sample], tokenizer: Any) -> list[dict[str, Any]]:
    """Return the first samples as the model sees them: the tokens as text again, and how many."""
    return [_shown(each, tokenizer.decode(each.tokens)) for each in samples[:COUNT]]


def _shown(sample: Sample, text: str) -> dict[str, Any]:
    return {
        "row": sample.row,
        "tokens": len(sample.tokens),
        "truncated": sample.truncated,
        # What a database cannot hold would lose the whole result.
        "text": text[:LONGEST_SHOWN].replace("\0", "\ufffd"),
        "is_cut": len(text) > LONGEST_SHOWN,
    }


def main(arguments: Sequence[str]) -> int:
    """Print the preview, or the failure, as one JSON object; return 1 for a failure."""
    options = _parser().parse_args(arguments)
    # Imported here: it takes seconds, which --help need not wait for.
    from workers.build_steps.calibration.tokenizer import open_tokenizer

    places = Places(
        sources=SourceOptions.from_mapping(
            {"local_checkpoint_roots": options.root, "hf_endpoint": options.hf_endpoint}
        ),
        kept=dict(each.split("=", 1) for each in options.kept),
        token=_read_token(options.token_fd),
    )
    try:
        samples = preview(
            options.dataset,
            open_tokenizer(options.model),
            places=places,
            max_length=options.max_length,
            count=options.count,
        )
    except StepFailure as error:
        json.dump({"failure": error.failure.to_json()}, sys.stdout)
        return 1
    json.dump(samples.to_json(), sys.stdout)
    return 0


def _read_token(descriptor: int | None) -> str | None:
    if descriptor is None:
        return None
    with os.fdopen(descriptor) as pipe:
        return pipe.read().strip() or None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.build_steps.calibration.preview")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder with a tokenizer")
    parser.add_argument("--max-length", type=int, default=1536)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--root", action="append", default=[], help="folder that may be read")
    parser.add_argument("--kept", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--hf-endpoint")
    parser.add_argument("--token-fd", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
