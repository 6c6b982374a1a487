"""Walks the schema of the config, block by block."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from controlplane.domain.config_reference.fields import ConfigBlock, ConfigField
from controlplane.domain.config_reference.kinds import default_of, kind_of, limits_of, target_of
from controlplane.domain.config_reference.readers import read_by
from controlplane.domain.config_reference.rules_by_field import rules_by_field
from controlplane.domain.spec.json_schema import field_schema

Schema = Mapping[str, Any]
_ENGINE = "trt_llm"
_FIRST = ("", _ENGINE, "resources", "enginehouse", "secrets", "model_metadata")
_STACKS = {"RuntimeV1": "v1", "RuntimeV2": "v2"}
_OPAQUE = frozenset({"Accelerator"})
"""Blocks that are written as one text."""


@cache
def config_blocks() -> Sequence[ConfigBlock]:
    """Return every block once, the engine first; a block used twice stands at its shortest path."""
    return tuple(sorted(_Walk().blocks(), key=_order))


def _order(block: ConfigBlock) -> tuple[int, str]:
    top = block.path.partition(".")[0]
    return (_FIRST.index(top) if top in _FIRST else len(_FIRST), top)


class _Walk:
    """Breadth first, so that a block is met first where people write it."""

    def __init__(self) -> None:
        self._definitions = field_schema()["definitions"]
        self._places: dict[str, str] = {}
        self._waiting: deque[tuple[str, str, Schema]] = deque()

    def blocks(self) -> Iterator[ConfigBlock]:
        self._waiting.append(("", "", field_schema()))
        while self._waiting:
            path, name, schema = self._waiting.popleft()
            stack = _STACKS.get(name, "")
            yield ConfigBlock(
                path=path,
                stack=stack,
                words=self._words(path, schema),
                fields=tuple(self._fields(path, stack, schema)),
            )

    def _words(self, path: str, schema: Schema) -> str:
        # The engine's block is one of two classes, and each says of itself which stack it is.
        described = field_schema()["properties"][path] if path == _ENGINE else schema
        return str(described.get("description", ""))

    def _fields(self, path: str, stack: str, schema: Schema) -> Iterator[ConfigField]:
        required = schema.get("required", ())
        for name, node in schema["properties"].items():
            full = f"{path}.{name}".lstrip(".")
            yield ConfigField(
                path=full,
                kind=self._kind(full, node),
                default=default_of(node),
                limits=limits_of(node),
                words=node["description"],
                is_required=name in required,
                read_by=read_by(full),
                rules=rules_by_field().get(full, ()),
                stack=stack,
            )

    def _kind(self, path: str, node: Schema) -> str:
        """Return the type, and remember the block that it is, to be walked in its turn."""
        if path == f"{_ENGINE}.inference_stack":
            return "`v1` or `v2`"
        if path == _ENGINE:
            # The other stack differs in `runtime` alone, which stands beside this one's.
            return self._enter(path, "TrtLlmV1")
        target, suffix = target_of(node)
        kind = kind_of(node, self._definitions)
        if target is None or target in _OPAQUE or "enum" in self._definitions[target]:
            return kind
        place = self._places.setdefault(target, path + suffix)
        if place != path + suffix:
            return f"{kind}, as `{place}`"
        self._enter(place, target)
        if target == "RuntimeV1":
            self._enter(place, "RuntimeV2")
        return kind

    def _enter(self, path: str, name: str) -> str:
        self._waiting.append((path, name, self._definitions[name]))
        return "block"
