"""What an export says of layers that stay in 16 bits, where a config has chosen them.

ModelOpt 0.47 folds a layer without quantization into `model.layers.1*`, which names the layers from
10 on as well, and forgets experts that Transformers keeps in one module; engines believe the list.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from controlplane.domain.facts.matrices import is_matched
from workers.build_steps.quantization.descriptions import CONFIG
from workers.build_steps.quantization.exported import EXPORT, PACKED_WEIGHT, headers

EVERYTHING = "*"
"""The pattern of an export that names all that stays, whoever chose it."""
_EXPERTS = ".experts."


def name_excluded(folder: Path, patterns: Sequence[str]) -> None:
    """Rewrite the list of both files: it names what stays in 16 bits and nothing that does not."""
    stored = json.loads((folder / EXPORT).read_bytes())
    # A mixture comes without a list: engines take what it does not name for 16 bits, or guess.
    declared = stored["quantization"].get("exclude_modules") or []
    names = _names(folder, declared, patterns)
    stored["quantization"]["exclude_modules"] = names
    config = json.loads((folder / CONFIG).read_bytes())
    config["quantization_config"]["ignore"] = names
    (folder / EXPORT).write_text(json.dumps(stored, indent=4) + "\n")
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")


def _names(folder: Path, declared: Sequence[str], patterns: Sequence[str]) -> list[str]:
    quantized, left = _modules(folder)
    sound = [each for each in declared if not any(is_matched(name, [each]) for name in quantized)]
    unsound = [each for each in declared if each not in sound]
    missing = [
        name
        for name in left
        if is_matched(name, [*patterns, *unsound]) and not is_matched(name, sound)
    ]
    return sorted({*sound, *_folded(missing, quantized)})


def _folded(missing: Sequence[str], quantized: Sequence[str]) -> Iterator[str]:
    """Yield the names, a layer's experts by one pattern where all of them are among these."""
    for name in missing:
        experts = f"{name.partition(_EXPERTS)[0]}{_EXPERTS}"
        is_whole = _EXPERTS in name and not any(each.startswith(experts) for each in quantized)
        yield f"{experts.rstrip('.')}*" if is_whole else name


def _modules(folder: Path) -> tuple[list[str], list[str]]:
    quantized, left = [], []
    for name, dtype, shape in headers(folder):
        module, _, kind = name.rpartition(".")
        if kind == PACKED_WEIGHT or (kind == "weight" and dtype in ("F8_E4M3", "U8")):
            quantized.append(module)
        elif kind == "weight" and len(shape) > 1:
            left.append(module)
    return quantized, left
