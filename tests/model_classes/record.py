"""Writes what every text class of transformers has of parameters, and by which settings.

`python -m tests.model_classes.record FOLDER [first] [every]` appends a line a class to
`FOLDER/classes.jsonl` and leaves alone what is there.
"""

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers.models.auto import modeling_auto as auto

from tests.model_classes.expressions import Polynomial
from tests.model_classes.fitting import Fit, fit
from tests.model_classes.making import Made
from tests.model_classes.varying import Maker, attempt, maker

MAPPINGS = {
    "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "classifier": auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "encoder": auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES,
}
_ALSO: Mapping[str, dict[str, Any]] = {
    "deberta-v2": {
        "position_buckets": 256, "relative_attention": True, "share_att_key": True,
        "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0,
    },
}  # fmt: skip
"""Values that public checkpoints of a family have and its defaults have not."""
SECONDS = 90
_STARTS: tuple[dict[str, Any], ...] = (
    {}, {"is_decoder": True}, {"head_dim": 64}, {"num_key_value_heads": 8},
    {"head_dim": 64, "num_key_value_heads": 8}, {"pad_token_id": 0},
    {"vocab_size": 1000, "pad_token_id": 0},
    {"attn_config.rope_theta": 10_000.0},
    {"layer_types": ["full_attention", "conv"] * 8, "num_hidden_layers": 16},
    {"n_group": 1, "topk_group": 1, "n_shared_experts": 1, "n_routed_experts": 8,
     "first_k_dense_replace": 1},
)  # fmt: skip


def main(folder: str, first: str = "0", every: str = "1") -> None:
    torch.set_num_threads(1)
    place = Path(folder) / f"classes{first}.jsonl"
    known = (
        {
            line["class"] + line["model_type"]
            for line in map(json.loads, place.read_text().splitlines())
        }
        if place.exists()
        else set()
    )
    with place.open("a") as out:
        for number, (kind, model_type, name) in enumerate(classes()):
            if number % int(every) == int(first) and name + model_type not in known:
                line = told(kind, model_type, name)
                out.write(json.dumps(line) + "\n")
                out.flush()


def classes() -> Iterator[tuple[str, str, str]]:
    """Yield kind, model type and name of every class, each once."""
    seen = set()
    for kind, names in MAPPINGS.items():
        for model_type, given in names.items():
            for name in [given] if isinstance(given, str) else given:
                if (model_type, name) not in seen:
                    seen.add((model_type, name))
                    yield kind, model_type, name


def told(kind: str, model_type: str, name: str) -> dict[str, Any]:
    """Return everything recorded of one class."""
    line: dict[str, Any] = {"kind": kind, "model_type": model_type, "class": name}
    made = maker(model_type, name)
    started = start_of(made, kind)
    if isinstance(started, str):
        return {**line, "refused": started}
    given, default = started
    line |= {"given": given, "parameters": default.parameters, "config": default.config}
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        fits = list(_fits(model_type, made, given))
    except Exception as error:
        return {**line, "missed": f"{type(error).__name__}: {error}"[:200]}
    finally:
        signal.alarm(0)
    return {**line, "fits": fits}


def start_of(made: Maker, kind: str) -> tuple[dict[str, Any], Made] | str:
    """Return the values by which the class can be made, with its first form, or why it cannot."""
    starts = (
        sorted(_STARTS, key=lambda each: "is_decoder" not in each) if kind == "causal" else _STARTS
    )
    for given in starts:
        if (first := attempt(made, given)) is not None:
            plain = attempt(made, {}) if "is_decoder" in given else None
            if plain is not None and plain.signature == first.signature:
                return {}, plain
            return given, first
    try:
        made({})
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
    return "not made"


def _fits(model_type: str, made: Maker, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    plain = fit(made, given=given)
    if also := _ALSO.get(model_type):
        yield _line(fit(made, given={**given, **also}), also, made(given))
    yield _line(plain, {}, made(given))
    for name in plain.unset[:4]:
        for value in (16, 2):
            if attempt(made, {**given, name: value}) is not None:
                yield _line(fit(made, given={**given, name: value}), {name: value}, made(given))
                break


def _line(found: Fit, set_to: dict[str, Any], default: Made) -> dict[str, Any]:
    plain = default.config_values
    return {
        "set": set_to,
        "unset": list(found.unset),
        "shaping": found.shaping,
        "missed": found.missed,
        "parts": {name: _text(each) for name, each in found.parts.items()}
        if not found.missed
        else {},
        "samples": [
            {
                "changes": {
                    k: v for k, v in each.config_values.items() if plain.get(k, "absent") != v
                },
                "parameters": each.parameters,
            }
            for each in found.samples[-4:]
        ],
    }


def _text(polynomial: Polynomial) -> str:
    return " + ".join(
        "*".join(
            [str(factor), *(name if power == 1 else f"{name}^{power}" for name, power in monomial)]
        )
        for monomial, factor in polynomial.items()
    )


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
