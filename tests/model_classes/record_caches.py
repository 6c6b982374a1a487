"""Records what classes of transformers keep of a request; those that cannot be asked, and why.

`python -m tests.model_classes.record_caches FOLDER` appends to `FOLDER/caches.jsonl`;
`python -m tests.model_classes.record_caches FOLDER write` makes the tests' data of it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers.models.auto import modeling_auto as auto

from tests.model_classes.caching import kept
from tests.model_classes.making import make
from tests.model_classes.writing import ROOT, reduced

DATA = ROOT / "tests/domain/data/kv_layouts.jsonl"
_STARTS: tuple[dict[str, Any], ...] = (
    {"num_hidden_layers": 8}, {"n_layer": 8}, {"n_layers": 8}, {"num_layers": 4},
    {"num_hidden_layers": 12}, {},
)  # fmt: skip


def main(folder: str, step: str = "record") -> None:
    place = Path(folder) / "caches.jsonl"
    if step == "write":
        _write(place)
        return
    torch.set_num_threads(1)
    with place.open("a") as out:
        for model_type, names in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items():
            for name in [names] if isinstance(names, str) else names:
                out.write(json.dumps(_told(model_type, name)) + "\n")


def _told(model_type: str, name: str) -> dict[str, Any]:
    reason = ""
    for start in _STARTS:
        values = dict(start)
        if model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
            values["is_decoder"] = True
        try:
            config = make(model_type, name, values).config
            if not start.keys() <= config.keys():
                continue
            numbers = kept(model_type, name, values)
        except Exception as error:  # as many kinds as there are classes
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:100]
            continue
        return {"model_type": model_type, "class": name, "config": config, **numbers}
    return {"model_type": model_type, "class": name, "error": reason}


def _write(place: Path) -> None:
    lines = [json.loads(line) for line in place.read_text().splitlines()]
    DATA.write_text(
        "".join(
            f"{json.dumps(_short(line), sort_keys=True, separators=(',', ':'))}\n" for line in lines
        )
    )


def _short(line: dict[str, Any]) -> dict[str, Any]:
    named = {"class": line["class"], "model_type": line["model_type"]}
    if "error" in line:
        return {**named, "not_asked": line["error"][:100]}
    config = {**reduced(line["config"]), "architectures": [line["class"]]}
    return {**named, "config": config, "numbers_a_token": line["a_token"]}


if __name__ == "__main__":
    main(*sys.argv[1:])
