"""Which files of a hub's data set are the `train` split of which config."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from workers.build_steps.calibration import failures

READABLE = (".parquet", ".jsonl", ".json")
_TRAIN = re.compile(r"(^|[/._-])train([/._-]|\d|$)")
_OTHER_SPLIT = re.compile(r"(^|[/._-])(test|validation|valid|val|dev|eval)([/._-]|\d|$)")


def train_files(
    name: str, config: str | None, files: Sequence[str], device: Mapping[str, Any]
) -> tuple[str | None, list[str]]:
    """Return the config that was meant and its files, in order; raises StepFailure.

    The GPU's own list of configs decides where there is one; else folders and names do.
    """
    readable = sorted(each for each in files if each.endswith(READABLE) and not _hidden(each))
    if listed := _listed_configs(device):
        chosen = _choose(name, config, listed)
        return chosen, _matching(name, listed[chosen], readable)
    folders = _config_folders(readable)
    if config is not None or len(folders) > 1:
        chosen = _choose(name, config, folders)
        readable = [each for each in readable if each in folders[chosen]]
        config = chosen
    of_training = [each for each in readable if _TRAIN.search(each)]
    of_training = of_training or [each for each in readable if not _OTHER_SPLIT.search(each)]
    if not of_training:
        raise failures.no_train_split(name, files)
    return config, of_training


def _listed_configs(device: Mapping[str, Any]) -> dict[str, Any]:
    """Return config name -> its `data_files`, as the GPU's front matter lists them."""
    configs = device.get("configs")
    return {
        str(each["config_name"]): each["data_files"]
        for each in (configs if isinstance(configs, list) else ())
        if isinstance(each, Mapping) and "config_name" in each and each.get("data_files")
    }


def _choose(name: str, config: str | None, known: Mapping[str, Any]) -> str:
    if config is not None:
        if config not in known:
            raise failures.which_config(name, sorted(known) or ["default"])
        return config
    if len(known) == 1:
        return next(iter(known))
    if "default" in known:
        return "default"
    raise failures.which_config(name, sorted(known))


def _matching(name: str, data_files: Any, readable: Sequence[str]) -> list[str]:
    patterns = list(_train_patterns(data_files))
    matching = [each for each in readable if any(_matches(each, pattern) for pattern in patterns)]
    if not matching:
        raise failures.no_train_split(name, readable)
    return matching


def _train_patterns(data_files: Any) -> list[str]:
    if isinstance(data_files, str):
        return [data_files]
    patterns: list[str] = []
    for each in data_files if isinstance(data_files, list) else ():
        if isinstance(each, str):
            patterns.append(each)
        elif isinstance(each, Mapping) and each.get("split") == "train":
            path = each.get("path")
            patterns += path if isinstance(path, list) else [str(path)]
    return patterns


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern.removeprefix("./").replace("**/", "*"))


def _config_folders(readable: Sequence[str]) -> dict[str, set[str]]:
    """Return top folder -> files, for data sets that keep each config in a folder of its own."""
    folders: dict[str, set[str]] = {}
    for path in readable:
        top, slash, _ = path.partition("/")
        if slash and top not in ("data", "train", "test", "validation"):
            folders.setdefault(top, set()).add(path)
    return folders


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.split("/")) or path.endswith(
        ("dataset_infos.json", "dataset_info.json")
    )
