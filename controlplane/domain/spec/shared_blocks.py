"""Blocks of YAML that stand in several places: an edit of one place leaves the others alone."""

from typing import Any

from ruamel.yaml.anchor import Anchor
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.mergevalue import merge_attrib


def part_from_others(content: Any, path: str, *, removes: bool) -> None:
    """Give each block on the way a copy of its own where an anchor or a merge shares it."""
    block, steps = content, path.split(".")
    while isinstance(block, CommentedMap):
        length = next((n for n in range(len(steps), 0, -1) if ".".join(steps[:n]) in block), 0)
        if not length:
            return
        key, steps = ".".join(steps[:length]), steps[length:]
        if not steps and removes:
            if _is_inherited(block, key):
                _take_in_merges(block)
            return
        if _is_inherited(block, key) or _is_anchored(block[key]):
            block[key] = _own_copy(block[key])
        if not steps:
            return
        block = block[key]


def _is_inherited(block: CommentedMap, key: str) -> bool:
    return all(name != key for name, _ in block.non_merged_items())


def _is_anchored(value: Any) -> bool:
    return isinstance(value, CommentedMap | CommentedSeq) and bool(value.anchor.value)


def _take_in_merges(block: CommentedMap) -> None:
    """Write what a block inherits into it, so that a part of that can go."""
    inherited = [(key, block[key]) for key in block if _is_inherited(block, key)]
    delattr(block, merge_attrib)
    for key, value in inherited:
        block[key] = _own_copy(value)


def _own_copy(value: Any) -> Any:
    copy: CommentedMap | CommentedSeq
    if isinstance(value, CommentedMap):
        copy = CommentedMap((key, _own_copy(value[key])) for key in value)
    elif isinstance(value, CommentedSeq):
        copy = CommentedSeq(_own_copy(item) for item in value)
    else:
        return value
    value.copy_attributes(copy)
    for attribute in (Anchor.attrib, merge_attrib):
        if hasattr(copy, attribute):
            delattr(copy, attribute)
    return copy
