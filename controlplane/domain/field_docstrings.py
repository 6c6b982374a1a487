"""The docstrings of a model's fields, read from its source when they are asked for.

From pydantic (`use_attribute_docstrings`), every start of a process would read every source.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import TypeGuard

from pydantic import BaseModel


@cache
def docstrings_of(model: type[BaseModel]) -> Mapping[str, str]:
    classes = (each for each in reversed(model.__mro__) if _is_ours(each))
    return MappingProxyType(
        {name: words for each in classes for name, words in own_docstrings(each)}
    )


def _is_ours(each: type) -> TypeGuard[type[BaseModel]]:
    return issubclass(each, BaseModel) and each.__module__.startswith("controlplane.")


def own_docstrings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    (tree,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(tree, ast.ClassDef)
    for field, after in pairwise(tree.body):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ) if name in model.model_fields:
                yield name, " ".join(words.split())
