"""What large libraries are spared of, each in a process of its own, as the product's are."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine

_SPARED = ("torch._dynamo", "torch.distributed.fsdp", "scipy", "sklearn", "accelerate")
_BEFORE = "from workers.imports import import_transformers, unchanged\nimport sys\n"
_IMPORTED = f"{_BEFORE}import_transformers(spreads_over_devices=False)\n"


_ENGINE = f"""{_IMPORTED}
import json, torch, workers.engine.engine, workers.engine.server.app
from transformers import LlamaConfig
from transformers.models.llama import modeling_llama
with torch.device("meta"):
    modeling_llama.LlamaForCausalLM(LlamaConfig(num_hidden_layers=1))
kept = [f"{{name}}.{{key}}" for name, module in list(sys.modules.items())
        for key, value in list(getattr(module, "__dict__", {{}}).items())
        if (value is unchanged or type(value).__name__ == "_Decorators")
        and name != "workers.imports" and name[:2] != "__"]
spared = [m for m in {_SPARED} if m in sys.modules]
import scipy
doubled = torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
(torch.empty(1, device="meta") * 2)
later = [torch._dynamo.utils.__name__, torch.distributed.is_available(), doubled.tolist()]
print(json.dumps({{"spared": spared, "kept": kept, "later": later}}))
"""


@pytest.fixture(scope="module")
def engine() -> dict[str, list[Any]]:
    """What a process says of itself that has imported an engine and made a model without data.

    Also what it then finds of what it was spared, which it asks for last.
    """
    content: dict[str, list[Any]] = json.loads(_said(_ENGINE))
    return content


def test_an_engine_makes_its_model_without_compiler_spread_tensors_and_solvers(
    engine: dict[str, list[Any]],
) -> None:
    assert engine["spared"] == []


def test_no_name_of_the_compiler_is_kept_that_does_nothing(engine: dict[str, list[Any]]) -> None:
    assert engine["kept"] == []


@pytest.mark.long  # steps that calibrate and gate import so, and would fail without
def test_several_devices_get_what_spreads_a_model() -> None:
    several = f"{_BEFORE}import_transformers(spreads_over_devices=True)\n"
    words = _said(
        f"{several}from transformers.utils import is_accelerate_available\n"
        "print(is_accelerate_available(), 'torch._dynamo' in sys.modules)"
    )
    assert words == "True False"


def test_solvers_are_looked_up_when_they_are_called() -> None:
    words = _said(
        "from workers.imports import solvers_on_call\nimport sys\n"
        "with solvers_on_call():\n    from scipy.stats import entropy\n"
        "before = 'scipy' in sys.modules\n"
        "print(before, float(entropy([1, 1], [1, 1])))\n"
        "print(sys.modules['scipy.stats'].entropy is entropy)"
    )
    assert words.split() == ["False", "0.0", "False"]


def test_whoever_asks_whether_solvers_are_installed_is_answered_meanwhile() -> None:
    words = _said(
        "from workers.imports import solvers_on_call\nfrom importlib.util import find_spec\n"
        "with solvers_on_call():\n    print(find_spec('scipy').name)"
    )
    assert words.split() == ["scipy"]


@pytest.mark.long  # a price and no behaviour
def test_a_model_is_quantized_and_exported_without_compiler_and_solvers(tmp_path: Path) -> None:
    words = _said(
        "from workers.imports import import_transformers\nimport os, sys\n"
        "os.environ['TRANSFORMERS_VERBOSITY'] = 'error'\n"
        "import_transformers(spreads_over_devices=True)\n"
        "from tests.tiny_checkpoint import make_tiny_checkpoint\n"
        "from tests.workers.build_steps.quantizing import fetched, quantized_spec, run_here\n"
        "from pathlib import Path\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "plain = make_tiny_checkpoint(folder / 'plain')\n"
        "fetch = fetched(plain, folder / 'fetch')\n"
        "run_here('calibrate', quantized_spec(plain, 'fp8'), folder / 'out', fetch=fetch)\n"
        "print(*[name in sys.modules for name in ('torch._dynamo', 'scipy')], file=sys.__stdout__)"
    )
    assert words.splitlines()[-1] == "False False"


def test_steps_begin_without_rules_runtimes_settings_and_keys() -> None:
    words = _said(
        "import sys\nimport workers.build_steps.__main__\n"
        "import workers.build_steps.fetch, workers.build_steps.package\n"
        "spared = ('controlplane.domain.rules', 'controlplane.domain.runtimes',"
        " 'pydantic_settings', 'cryptography', 'torch')\n"
        "print([name for name in spared if name in sys.modules])"
    )
    assert words == "[]"


def test_tokenizers_come_without_torch_and_without_a_word_about_it() -> None:
    words = _said(
        "from workers.imports import import_tokenizers\nimport sys\nimport_tokenizers()\n"
        "import workers.build_steps.preview\nfrom transformers import AutoTokenizer\n"
        "print(AutoTokenizer.__name__, 'torch' in sys.modules)"
    )
    assert words == "AutoTokenizer False"


def test_what_was_spared_is_there_for_who_asks_later(engine: dict[str, list[Any]]) -> None:
    assert engine["later"] == ["torch._dynamo.utils", True, [2.0, 2.0]]


@pytest.mark.long  # no process of the product imports it before
def test_what_is_imported_already_is_left_as_it_is() -> None:
    words = _said(
        f"import accelerate, torch._dynamo as compiler\n{_IMPORTED}"
        "print(sys.modules['torch._dynamo'] is compiler, sys.modules['accelerate'] is accelerate)"
    )
    assert words == "True True"


def _said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()
