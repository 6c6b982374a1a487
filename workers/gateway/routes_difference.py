"""What is other in the routes than before: all that has to be looked at when they change."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TypeVar

from workers.gateway.snapshot import Deployment, Key, Model, Snapshot

_Row = TypeVar("_Row")
_Pairs = list[tuple[_Row | None, _Row | None]]
_NO_DEPLOYMENTS: Mapping[str, Deployment] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Pairs of what there was and what there is; None for what was not, or is not any more."""

    deployments: _Pairs[Deployment]
    keys: _Pairs[Key]


def difference(before: Snapshot | None, after: Snapshot) -> Difference:
    """Return what may be other; it costs what was touched where `after` follows on `before`."""
    models: Mapping[str, Model] = before.models if before else {}
    keys: Mapping[str, Key] = before.keys if before else {}
    if before is None or after.since != before.version:
        model_ids: Set[str] = models.keys() | after.models.keys()
        key_ids: Set[str] = keys.keys() | after.keys.keys()
    else:
        model_ids, key_ids = after.touched_models, after.touched_keys
    return Difference(
        deployments=list(_deployments(_pairs(models, after.models, model_ids))),
        keys=list(_pairs(keys, after.keys, key_ids)),
    )


def _deployments(
    models: Iterable[tuple[Model | None, Model | None]],
) -> Iterator[tuple[Deployment | None, Deployment | None]]:
    for before, after in models:
        was = before.deployments if before else _NO_DEPLOYMENTS
        named = after.deployments if after else _NO_DEPLOYMENTS
        yield from _pairs(was, named, was.keys() | named.keys())


def _pairs(
    before: Mapping[str, _Row], after: Mapping[str, _Row], ids: Set[str]
) -> Iterator[tuple[_Row | None, _Row | None]]:
    for id in ids:
        pair = before.get(id), after.get(id)
        if pair[0] is not pair[1]:
            yield pair
