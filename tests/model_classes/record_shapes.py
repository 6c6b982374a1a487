"""Writes what the classes say of themselves that the tables do not count within half a percent.

`python -m tests.model_classes.record_shapes` rewrites `tests/domain/data/class_shapes.jsonl` by
what a control worker's process asks them.
"""

import json
from pathlib import Path

from tests.domain.cases import lines
from tests.model_classes.settings import config_of
from workers.class_shapes.child import shape_of

DATA = Path(__file__).parents[1] / "domain/data/class_shapes.jsonl"


def main() -> None:
    """Ask each, a line a class."""
    cases = [each for each in lines("model_classes.jsonl") if "parameters" in each]
    with DATA.open("w") as out:
        for case in (each for each in cases if not each["counted_by"]):
            shape = shape_of(config_of(case, cases))
            values = {"class": case["class"], "model_type": case["model_type"],
                    "shape": shape}  # fmt: skip
            out.write(json.dumps(values, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
