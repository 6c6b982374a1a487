"""Root-mean-square norms by one kernel each, where their classes take eight."""

from torch import Tensor, nn
from torch.nn.functional import rms_norm

CLASSES = frozenset({"LlamaRMSNorm", "MistralRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm"})
"""Of Transformers: those that multiply by the weight as it is stored."""


class FusedNorm(nn.Module):
    """The same arithmetic, rounded once, at its end."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.weight: nn.Parameter = norm.weight
        self._eps: float = norm.variance_epsilon

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight.shape, self.weight, self._eps)


def fuse_norms(model: nn.Module) -> int:
    """Replace each such norm in the model; give back how many there were."""
    norms = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if type(child).__name__ in CLASSES
    ]
    for parent, name, child in norms:
        setattr(parent, name, FusedNorm(child))
    return len(norms)
