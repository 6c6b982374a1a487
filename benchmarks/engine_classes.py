"""Which model classes each vLLM release has: what the tables of classes are held to.

    python benchmarks/engine_classes.py --sources FOLDER

`FOLDER` holds one folder a release, `vllm-0.33.0/vllm`, as a wheel unpacks. Of every class of
`models/registry.py` it keeps the first and the last release with it; of every class that a release
says it gave up, the last version that had it. `tests/domain/facts/test_classes_of_vllm.py` reads
the kept result.
"""

import argparse
import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULT = Path(__file__).resolve().parent / "results/engine_classes-2026-11-30.json"
_REGISTRY = "vllm/model_executor/models/registry.py"
_GIVEN_UP = "_PREVIOUSLY_SUPPORTED_MODELS"
_NO_MODELS = (_GIVEN_UP, "_OOT_SUPPORTED_MODELS", "_SUBPROCESS_COMMAND")
_RELEASE = re.compile(r"vllm-(\d+\.\d+)")


def main() -> None:
    """Read the registries, and keep what they hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, required=True)
    kept = classes_of(parser.parse_args().sources)
    RESULT.write_text(f"{json.dumps(kept, indent=1, sort_keys=True)}\n")


def classes_of(sources: Path) -> dict[str, Any]:
    """Return the classes with their section and releases, and those given up."""
    releases, classes, given_up = [], {}, {}
    for release, registry in sorted(_registries(sources)):
        releases.append(release)
        for section, name, value in _entries(registry):
            if section == _GIVEN_UP:
                given_up[name] = value
            elif section not in _NO_MODELS:
                first = classes.get(name, {}).get("first", release)
                classes[name] = {"section": section, "first": first, "last": release}
    return {"releases": releases, "classes": classes, "given_up": given_up}


def _registries(sources: Path) -> Iterator[tuple[str, Path]]:
    for registry in sources.glob(f"vllm-*/{_REGISTRY}"):
        named = _RELEASE.search(str(registry))
        if named:
            yield named[1], registry


def _entries(registry: Path) -> Iterator[tuple[str, str, Any]]:
    for statement in ast.parse(registry.read_text()).body:
        for section, table in _tables(statement):
            for key, value in zip(table.keys, table.values, strict=True):
                if isinstance(key, ast.Constant):
                    yield section, str(key.value), _plain(value)


def _tables(statement: ast.stmt) -> Iterator[tuple[str, ast.Dict]]:
    value = getattr(statement, "value", None)
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name) and isinstance(value, ast.Dict):
            yield target.id, value


def _plain(value: ast.expr) -> Any:
    return value.value if isinstance(value, ast.Constant) else None


if __name__ == "__main__":
    main()
