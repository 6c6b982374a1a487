"""Imports of large libraries, at less than their usual price."""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from workers.table_of_models import keep_table_of_models

_COMPILER = "torch._dynamo"
_NO_ADVICE = "TRANSFORMERS_NO_ADVISORY_WARNINGS"
_MODELS = ("transformers.modeling_utils", "transformers.masking_utils")
_SOLVERS = ("scipy", "sklearn")
"""Of losses and of beam search, which only training and Transformers' own generation have."""
_PARTS_OF_SOLVERS = ("scipy.interpolate", "scipy.optimize", "scipy.spatial", "scipy.stats")
_OVER_SEVERAL_DEVICES = ("accelerate",)
_OF_A_CLOUD = ("boto3",)
"""For which accelerate has a form of questions about hosts that are rented there."""


def import_transformers(*, spreads_over_devices: bool) -> None:
    """Import torch and what Transformers' models stand on, for a process that only computes.

    Transformers would bring along torch's compiler for the sake of a decorator, tensors that are
    spread over processes, and solvers: half of the import, for what nobody here calls. Who asks for
    one of them later gets it, but for what Transformers itself would have done with it.
    """
    keep_table_of_models()
    _import_torch()
    hidden = _OF_A_CLOUD if spreads_over_devices else _OVER_SEVERAL_DEVICES
    with ExitStack() as stack, suppress(ImportError, AttributeError):
        for name in (*_SOLVERS, *hidden):
            stack.enter_context(not_installed(name))
        stack.enter_context(without_compiler())
        stack.enter_context(_without_spread_tensors())
        for name in _MODELS:
            importlib.import_module(name)
    for name in _MODELS:  # a version that does not stand it gets all that it asks for
        importlib.import_module(name)


def import_tokenizers() -> None:
    """Import Transformers' tokenizers without torch, which takes half of their import."""
    keep_table_of_models()
    with not_installed("torch"), _without_advice():
        importlib.import_module("transformers.models.auto.tokenization_auto")


def _import_torch() -> None:
    """Import torch with marks that do not bring its compiler along while nobody compiles.

    What torch computes with where tensors have no data, as in a model that is being made, is
    marked as never to be compiled. The first call of any of it would import the compiler for
    that: a third of an engine's start.
    """
    if "torch" in sys.modules:
        return
    marking = None
    with suppress(ImportError, OSError, AttributeError):  # a version without it imports as it likes
        marking = _marking_module()
        marking._disable_dynamo = _patient(marking._disable_dynamo)
        sys.modules[marking.__name__] = marking
    torch: Any = importlib.import_module("torch")
    if marking is not None:
        torch._compile = marking


def _marking_module() -> Any:
    """Return torch's module of the mark, which stands on nothing else of torch."""
    spec: Any = importlib.util.find_spec("torch")
    path = Path(spec.origin).with_name("_compile.py")
    own: Any = importlib.util.spec_from_file_location("torch._compile", path)
    module = importlib.util.module_from_spec(own)
    own.loader.exec_module(module)
    return module


def _patient(mark: Callable[..., Any]) -> Callable[..., Any]:
    """Return the mark, applied to a function once the compiler is there that asks for it."""

    def marked(function: Any = None, recursive: bool = True) -> Any:
        if function is None:
            return partial(marked, recursive=recursive)
        never_compiled = mark(function, recursive)

        @wraps(function)
        def called(*values: Any, **options: Any) -> Any:
            is_there = not isinstance(sys.modules.get(_COMPILER), _Decorators | None)
            return (never_compiled if is_there else function)(*values, **options)

        return called

    return marked


@contextmanager
def not_installed(name: str) -> Iterator[None]:
    """Let a package look absent in the block, unless somebody has imported it before."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # import and find_spec know this sign
    try:
        yield
    finally:
        del sys.modules[name]


@contextmanager
def solvers_on_call() -> Iterator[None]:
    """Let what the block takes from SciPy's solvers be looked up when it is called."""
    if "scipy" in sys.modules:
        yield
        return
    package = ModuleType("scipy")
    spec = importlib.util.find_spec("scipy")
    package.__path__ = list((spec and spec.submodule_search_locations) or ())
    # Who asks whether it is installed is refused an answer where it has none.
    package.__spec__ = spec or ModuleSpec("scipy", None)
    sys.modules["scipy"] = package
    for name in _PARTS_OF_SOLVERS:
        sys.modules[name] = part = _OnCall(name)
        setattr(package, name.rpartition(".")[2], part)
    try:
        yield
    finally:
        for name in [each for each in sys.modules if each.split(".")[0] == "scipy"]:
            del sys.modules[name]


@contextmanager
def without_compiler() -> Iterator[None]:
    """Let each decorator of torch's compiler leave its function as it is in the block."""
    torch = importlib.import_module("torch")
    if _COMPILER in sys.modules:
        yield
        return
    sys.modules[_COMPILER] = _Decorators(torch)
    try:
        yield
    finally:
        # Those of its modules too: the real package would not know them for its own.
        for name in [each for each in sys.modules if each.startswith(f"{_COMPILER}.")]:
            del sys.modules[name]
        del sys.modules[_COMPILER]


@contextmanager
def _without_advice() -> Iterator[None]:
    """Keep Transformers from saying that torch was not found."""
    before, os.environ[_NO_ADVICE] = os.environ.get(_NO_ADVICE), "1"
    try:
        yield
    finally:
        del os.environ[_NO_ADVICE]
        if before is not None:
            os.environ[_NO_ADVICE] = before


@contextmanager
def _without_spread_tensors() -> Iterator[None]:
    distributed: Any = importlib.import_module("torch.distributed")
    original, distributed.is_available = distributed.is_available, lambda: False
    try:
        yield
    finally:
        distributed.is_available = original


class _OnCall(ModuleType):
    """A module whose functions come from the real one of its name once they are called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*values: Any, **options: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*values, **options)

        return called


class _Decorators(ModuleType):
    """The compiler's package, in which every name is a decorator that changes nothing.

    Its modules are its own: masks are made with a tool that lives in one of them.
    """

    def __init__(self, torch: ModuleType) -> None:
        super().__init__(_COMPILER)
        self.__path__ = [f"{folder}/_dynamo" for folder in torch.__path__]
        self.eval_frame = SimpleNamespace(OptimizedModule=_Compiled)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return unchanged


class _Compiled:
    """What accelerate looks for before it saves a model; nothing is one."""


def unchanged(function: Any = None, *_values: object, **_options: object) -> Any:
    """Return the function, or where none is given yet what returns it."""
    return unchanged if function is None else function
