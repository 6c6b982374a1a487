"""Where TensorRT-LLM was seen to do what its table says: nowhere yet."""

from collections.abc import Mapping

from controlplane.domain.runtimes.capability import Feature, Proof

PROOFS: Mapping[Feature, tuple[Proof, ...]] = {}
