"""What TensorRT-LLM makes of two features together, where that is less than of either alone."""

from controlplane.domain.facts import sources
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.runtimes.pairs import Pair

_MATRIX = sources.tensorrt_llm("feature combination matrix")

PAIRS = (
    Pair(
        features=(Feature.LOOKAHEAD, Feature.PIPELINE_PARALLEL),
        support=Support.REFUSED,
        how="it drafts in one stage only, and fails to start with more",
        source=sources.tensorrt_llm("feature combination matrix; issue 9009"),
    ),
    Pair(
        features=(Feature.LOOKAHEAD, Feature.CHUNKED_PREFILL),
        support=Support.EMULATED,
        how="prompts enter whole under drafts, as in the hosted product; the engine itself takes "
        "both",
        source=_MATRIX,
    ),
    Pair(
        features=(Feature.LOOKAHEAD, Feature.MULTIMODAL),
        support=Support.UNTESTED,
        how="compiled engines failed beside the table of image inputs, and its matrix does not "
        "name the two",
        source=sources.tensorrt_llm("issue 6009, lookahead with a prompt table"),
    ),
    Pair(
        features=(Feature.CHUNKED_PREFILL, Feature.PIPELINE_PARALLEL),
        support=Support.UNTESTED,
        how="its matrix calls the two untested",
        source=_MATRIX,
    ),
)
