"""Which rows each function of the apps locks, in the order of its lines, calls included."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE_ELSEWHERE = {
    "apps/accounts/people/invitations.py:_open": ["Invitation"],
    "apps/deployments/environments/promoting.py:rows": ["ServedModel", "Environment", "Deployment"],
    "apps/deployments/nodes/removing.py:_live": ["Replica"],
    "apps/deployments/services/sweeping.py:_silent_replicas": ["Replica"],
    "apps/fleet/services/devices.py:devices": ["Device"],
    "apps/leases/services.py:_of": [],
    "apps/leases/services.py:rows": [],
    "apps/leases/sweeping.py:leases_unheld": [],
}
"""What querysets hold that another function makes; those of leases hold the one row of any work."""


@dataclass(kw_only=True)
class Function:
    """One function: what it locks and calls, line by line."""

    place: str
    is_atomic: bool
    steps: list[tuple[str, str]] = field(default_factory=list)
    """`locks` and a model, or `calls` and a name."""


def functions() -> dict[str, list[Function]]:
    """Return every function of the apps by its bare name."""
    values: dict[str, list[Function]] = {}
    for path in sorted((ROOT / "apps").rglob("*.py")):
        if "migrations" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        compiled = dict(_compiled(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                place = f"{path.relative_to(ROOT)}:{node.name}"
                values.setdefault(node.name, []).append(_function(place, node, compiled))
    return values


def locks_of(
    function: Function, known: dict[str, list[Function]], seen: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Yield the models that a function locks, its callees' among them."""
    for kind, name in function.steps:
        if kind == "locks":
            yield from _models(name, function)
            continue
        for callee in _called(name, function, known):
            if callee.place not in seen:
                yield from locks_of(callee, known, seen | {callee.place})


def _models(name: str, function: Function) -> list[str]:
    if name[:1].isupper():
        return [name]
    return MADE_ELSEWHERE[f"{function.place.partition(':')[0]}:{name}"]


def _called(name: str, by: Function, known: dict[str, list[Function]]) -> list[Function]:
    """Return the function of that name: of the caller's own file where there is one."""
    candidates = known.get(name, [])
    file = by.place.partition(":")[0]
    return [each for each in candidates if each.place.startswith(f"{file}:")] or candidates


def _compiled(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name of each compiled query of a file that locks, and the model of its rows."""
    for each in tree.body:
        if isinstance(each, ast.Assign) and ast.unparse(each.value).startswith("CompiledQuery("):
            assert isinstance(each.value, ast.Call)
            query = each.value.args[1]
            assert isinstance(query, ast.Lambda)
            if "select_for_update" in ast.unparse(query):
                yield ast.unparse(each.targets[0]), _root(query.body) or "?"


def _function(place: str, node: ast.FunctionDef, compiled: dict[str, str]) -> Function:
    is_atomic = any("atomic" in ast.unparse(each) for each in node.decorator_list)
    is_atomic = is_atomic or any(
        isinstance(each, ast.With) and "transaction.atomic" in ast.unparse(each.items[0])
        for each in ast.walk(node)
    )
    calls = sorted(_calls(node), key=lambda call: (call.end_lineno, call.end_col_offset))
    origins = _origins(node)
    steps = [step for call in calls if (step := _step(call, origins, compiled))]
    return Function(place=place, is_atomic=is_atomic, steps=steps)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and _last_word(child.func).endswith("on_commit"):
            continue  # after the transaction
        if isinstance(child, ast.Call):
            yield child
        yield from _calls(child)


def _last_word(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _origins(node: ast.FunctionDef) -> dict[str, str]:
    """Return the model that each local queryset is made of, or the name it was made from."""
    values: dict[str, str] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None:
            target = each.targets[0] if isinstance(each, ast.Assign) else each.target
            if isinstance(target, ast.Name) and (root := _root(each.value)):
                values.setdefault(target.id, root)
    return values


def _step(
    call: ast.Call, origins: dict[str, str], compiled: dict[str, str]
) -> tuple[str, str] | None:
    if isinstance(call.func, ast.Attribute):
        request = ast.unparse(call.func.value)
        if call.func.attr in ("first", "rows") and request in compiled:
            return "locks", compiled[request]
        if call.func.attr != "select_for_update":
            return None
        root = _root(call.func) or "?"
        while root in origins and origins[root] != root:
            root = origins.pop(root)
        return "locks", root
    return ("calls", call.func.id) if isinstance(call.func, ast.Name) else None


def _root(node: ast.AST) -> str | None:
    """Return the name that a chain of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript | ast.BinOp):
        node = next(iter(ast.iter_child_nodes(node)))
    return node.id if isinstance(node, ast.Name) else None
