"""The process that loads a checkpoint's headers into its class: no weights, no code of theirs.

`python -m workers.build_steps.weights.class_loading CONFIG_FOLDER < {tensor: shape}` prints one
JSON object. Transformers itself says what fits: it knows of tied and optional tensors, of older
names, and of experts that it stacks.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.collecting import without_collecting
from controlplane.domain.facts.config_numbers import layerless
from workers.build_steps.weights.mending import mending
from workers.imports import import_transformers

CPU_SECONDS = 60
_GRACE_SECONDS = 5
MEMORY_BYTES = 4 * 1024**3
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_DEACTIVATE_ASYNC_LOAD": "1", "CUDA_VISIBLE_DEVICES": ""}
"""No network, no threads, no GPU."""

Shapes = Mapping[str, Sequence[int]]


def main(folder: str) -> None:
    """Print what the class makes of the tensors, or why that cannot be told."""
    # What libraries print goes elsewhere.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # At the first of the two SIGXCPU ends the process, which no other cause does.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + _GRACE_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Of its data: what libraries map of their own files is no memory of the machine's.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    shapes = json.load(sys.stdin)
    try:
        _prepare_libraries()
        result = report_of(folder, shapes)
    except Exception as error:  # a library that is not whole
        result = {"not_loadable": _named(error)}
    with answer:
        json.dump(result, answer)


def report_of(folder: str, shapes: Shapes) -> dict[str, Any]:
    try:
        return _Loading(folder, shapes).report()
    except ConfigRefused as error:
        return {"config_refused": str(error)}
    except Exception as error:  # whatever a stranger's config.json makes Transformers raise
        return {"not_loadable": _named(error)}


def _prepare_libraries() -> None:
    """Load them for a process of their own: one thread, and not a word."""
    with without_collecting():
        import_transformers(spreads_over_devices=True)
    import torch
    import transformers

    # Transformers reads the numbers in names; the time that this takes is this process's own.
    sys.set_int_max_str_digits(0)
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.utils.logging.disable_progress_bar()


class ConfigRefused(Exception):
    """Transformers knows the class and cannot make it of this config; the text is why."""


class _Stored:
    """Stands for a tensor of a file, as Transformers reads one, and notes that it was read."""

    def __init__(self, name: str, shape: Sequence[int], read: set[str]) -> None:
        self._name, self._shape, self._read = name, tuple(shape), read

    def __getitem__(self, _all: object) -> Any:
        import torch

        self._read.add(self._name)
        return torch.empty(self._shape, device="meta")


class _Loading:
    def __init__(self, folder: str, shapes: Shapes) -> None:
        import transformers

        self._shapes = shapes
        self._read: set[str] = set()
        self._raw = json.loads((Path(folder) / "config.json").read_bytes())
        if not _is_known(self._raw):
            raise LookupError(f"Transformers has no `{_architecture(self._raw) or 'none'}`")
        if not _architecture(self._raw):
            raise ConfigRefused("`architectures` names no class.")
        if none := layerless(self._raw):
            raise ConfigRefused(f"`{none[0]}` is {none[1]}, which leaves no layers.")
        self._config = self._made(
            lambda: transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
        )
        if hasattr(self._config, "quantization_config"):
            del self._config.quantization_config  # names and shapes are those of plain weights
        self._class: Any = getattr(transformers, _architecture(self._raw))

    def report(self) -> dict[str, Any]:
        """Return what is missing, what is of another shape, and what is stored for nothing."""
        from workers.model_layers import beyond  # with torch, which has its limits by now

        try:
            model, report = self._load()
        except Exception as error:
            self._made(self._empty)
            if not isinstance(error, RuntimeError):
                raise
            return self._not_put_together(error)
        missing, wrong = sorted(report["missing_keys"]), sorted(report["mismatched_keys"])
        left = beyond(model, report["unexpected_keys"])
        if not (missing or wrong):
            return self._answer(beyond=left)
        saved = self._saved(model)
        parts = self._missing_parts(saved)
        named = [each for each in missing if not parts or each in saved]
        return self._answer(
            missing=sorted({*named, *parts}),
            wrong=[each for each in wrong if not parts or each[0] in saved],
            body=[*self._of_body(model, named), *parts],
            beyond=left,
        )

    def _made(self, make: Callable[[], Any]) -> Any:
        """Return what is made of the config alone. Raises ConfigRefused where that is at fault."""
        try:
            return make()
        except (ImportError, MemoryError, OSError):
            raise
        except Exception as error:  # whatever a stranger's config.json makes Transformers raise
            if "memory" in str(error):
                raise
            blamed = _blamed(self._raw, error) or mending(self._raw, self._is_made_of)
            raise ConfigRefused(f"{blamed}{_named(error)}") from error

    def _is_made_of(self, raw: Mapping[str, Any]) -> bool:
        """Return whether Transformers makes the class of another config."""
        import torch
        import transformers

        try:
            config = transformers.AutoConfig.for_model(**raw)
            with torch.device("meta"):
                getattr(transformers, _architecture(raw))(config)
        except Exception:  # as many as there are ways to write a config
            return False
        return True

    def _load(self) -> Any:
        return self._class.from_pretrained(
            None,
            config=self._config,
            state_dict={
                name: _Stored(name, shape, self._read) for name, shape in self._shapes.items()
            },
            device_map="meta",
            dtype="float32",
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            local_files_only=True,
        )

    def _not_put_together(self, error: RuntimeError) -> dict[str, Any]:
        """Return which of the tensors that the class puts together, such as experts, are amiss."""
        saved = self._saved(self._empty())
        parts = self._missing_parts(saved)
        wrong = [
            (name, self._shapes[name], shape)
            for name, shape in saved.items()
            if name in self._shapes and tuple(self._shapes[name]) != tuple(shape)
        ]
        if not (parts or wrong):
            raise error
        return self._answer(missing=parts, wrong=wrong, body=parts)

    def _answer(
        self,
        *,
        missing: Sequence[str] = (),
        wrong: Iterable[tuple[str, Sequence[int], Sequence[int]]] = (),
        body: Sequence[str] = (),
        beyond: Sequence[str] = (),
    ) -> dict[str, Any]:
        return {
            "missing": missing,
            "wrong": [[name, [*stored], [*expected]] for name, stored, expected in wrong],
            "body": body,
            "beyond": beyond,
            "unread": sorted(self._shapes.keys() - self._read),
        }

    def _empty(self) -> Any:
        import torch

        with torch.device("meta"):
            return self._class(self._config)

    def _saved(self, model: Any) -> dict[str, Sequence[int]]:
        """Return the tensors as the class itself saves them, put apart again."""
        from transformers.core_model_loading import revert_weight_conversion

        tensors = revert_weight_conversion(model, model.state_dict())
        return {name: tuple(each.shape) for name, each in tensors.items()}

    def _missing_parts(self, saved: Iterable[str]) -> list[str]:
        """Return the parts that are not stored, where others of their kind are."""
        parts = set(saved) - set(self._empty().state_dict())
        return sorted(parts - self._shapes.keys()) if parts & self._shapes.keys() else []

    @staticmethod
    def _of_body(model: Any, names: Iterable[str]) -> list[str]:
        prefix = f"{model.base_model_prefix}."
        is_body = model.base_model is model
        return [each for each in names if is_body or each.startswith(prefix)]


def _is_known(config: Mapping[str, Any]) -> bool:
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    named = _architecture(config)
    return config.get("model_type") in CONFIG_MAPPING and (
        not named or hasattr(transformers, named)
    )


def _architecture(config: Mapping[str, Any]) -> str:
    named = config.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else ""


def _blamed(config: Any, error: Exception) -> str:
    """Return the setting whose value was looked up in vain, as a sentence begins; or nothing."""
    if not (isinstance(error, KeyError) and error.args):
        return ""
    name = _place(config, error.args[0])
    return f"`{name}` is {json.dumps(error.args[0])}: " if name else ""


def _place(config: Any, value: Any, name: str = "") -> str | None:
    """Return the dotted path of a text in a config, or None."""
    if not isinstance(config, dict):
        return name if isinstance(value, str) and config == value else None
    below = (_place(each, value, f"{name}.{key}".lstrip(".")) for key, each in config.items())
    return next(filter(None, below), None)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


if __name__ == "__main__":
    main(sys.argv[1])
