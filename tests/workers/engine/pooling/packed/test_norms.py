"""A fused norm gives what Transformers' own classes give."""

import pytest
import torch
from torch import nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.mistral.modeling_mistral import MistralRMSNorm
from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

from workers.engine.pooling.packed.norms import CLASSES, fuse_norms

KINDS = (LlamaRMSNorm, MistralRMSNorm, Qwen2RMSNorm, Qwen3RMSNorm)


def test_the_names_are_those_of_the_classes() -> None:
    assert {kind.__name__ for kind in KINDS} == CLASSES


@pytest.mark.parametrize("kind", KINDS)
def test_a_norm_is_the_same_to_the_last_digits(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    norm = kind(16, eps=1e-5)
    with torch.no_grad():
        norm.weight.copy_(torch.randn(16))
    model = nn.ModuleDict({"norm": norm})
    x = torch.randn(2, 3, 16) * 0.01
    expected = norm(x)
    assert fuse_norms(model) == 1
    torch.testing.assert_close(model["norm"](x), expected, atol=1e-6, rtol=1e-6)
