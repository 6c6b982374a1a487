import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from apps.dashboard.rest_reference.shapes import FieldLine, field_lines, kind_of, words_of
from apps.rest.specification import document

Node = Mapping[str, Any]
_PLACES = ("path", "query", "header")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    name: str
    place: str
    kind: str
    is_required: bool
    words: str


@dataclass(frozen=True, kw_only=True)
class Body:
    status: str
    words: str
    media_type: str
    fields: tuple[FieldLine, ...]
    example: Any

    @property
    def text(self) -> str:
        if self.example is None or isinstance(self.example, str):
            return self.example or ""
        return json.dumps(self.example, indent=2, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Operation:
    name: str
    method: str
    path: str
    area: str
    sentence: str
    parameters: tuple[Parameter, ...]
    request: Body | None
    answers: tuple[Body, ...]
    errors: tuple[Body, ...]
    is_open: bool

    @property
    def answers_in(self) -> tuple[str, ...]:
        return tuple(answer.media_type for answer in self.answers)

    def matches(self, words: list[str]) -> bool:
        fields = [field.name for field in self.request.fields] if self.request else []
        parts = (self.method, self.path, self.sentence, *(each.name for each in self.parameters))
        text = " ".join((*parts, *fields)).lower()
        return all(word in text for word in words)


@cache
def operations() -> Mapping[str, Operation]:
    spec = document()
    components = spec["components"]["schemas"]
    listed = [
        _operation(path, method, node, components)
        for path, methods in spec["paths"].items()
        for method, node in methods.items()
    ]
    return {operation.name: operation for operation in listed}


def _operation(path: str, method: str, node: Node, components: Node) -> Operation:
    bodies = [
        body
        for status, answer in sorted(node["responses"].items())
        for body in _bodies(status, answer, components)
    ]
    request = next(_bodies("", node.get("requestBody", {}), components), None)
    return Operation(
        name=node["operationId"],
        method=method.upper(),
        path=path,
        area=path.split("/")[2].partition(".")[0],
        sentence=node.get("description", ""),
        parameters=_parameters(node.get("parameters", ()), components),
        request=request if request and request.media_type else None,
        answers=_together([body for body in bodies if body.status < "300"]),
        errors=tuple(body for body in bodies if body.status >= "300"),
        is_open={} in node.get("security", [{}]),
    )


def _together(bodies: list[Body]) -> tuple[Body, ...]:
    by_shape: dict[tuple[Any, ...], Body] = {}
    for body in bodies:
        shape = (body.media_type, body.fields)
        before = by_shape.get(shape)
        statuses = f"{before.status}, {body.status}" if before else body.status
        by_shape[shape] = replace(body, status=statuses)
    return tuple(by_shape.values())


def _parameters(nodes: Iterable[Node], components: Node) -> tuple[Parameter, ...]:
    parameters = [_parameter(node, components) for node in nodes]
    return tuple(sorted(parameters, key=lambda each: _PLACES.index(each.place)))


def _parameter(node: Node, components: Node) -> Parameter:
    return Parameter(
        name=node["name"],
        place=node["in"],
        kind=kind_of(node["schema"], components),
        is_required=node.get("required", False),
        words=words_of(node),
    )


def _bodies(status: str, node: Node, components: Node) -> Iterator[Body]:
    for media_type, content in node.get("content", {"": {}}).items():
        examples = [each["value"] for each in content.get("examples", {}).values()]
        yield Body(
            status=status,
            words=node.get("description", ""),
            media_type=media_type,
            fields=field_lines(content.get("schema", {}), components),
            example=examples[0] if examples else None,
        )
