"""What vLLM makes of two features together, where that is less than of either alone."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.sources import Source
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.runtimes.pairs import Pair


def _read(section: str) -> Source:
    return sources.vllm(section, checked="2026-11-30")


_FEATURES = _read("features, feature x feature")

PAIRS = (
    Pair(
        features=(Feature.LOOKAHEAD, Feature.PIPELINE_PARALLEL),
        support=Support.REFUSED,
        how="stages pass on one token a request, and a step with drafts makes several: 0.25 to "
        "0.29 were reported to end at the start, to hang, or to answer wrongly",
        source=_read("issues 49355, 52071, 54260, 57755 and 57817"),
    ),
    Pair(
        features=(Feature.LOOKAHEAD, Feature.ADAPTERS),
        support=Support.UNTESTED,
        how="its table of features excludes the two, and its code takes them where a step holds a "
        "token and all drafts of every request, which `max_num_tokens` is raised to",
        source=_read("engine/arg_utils.py, create_engine_config"),
    ),
    Pair(
        features=(Feature.LOOKAHEAD, Feature.MULTIMODAL),
        support=Support.UNTESTED,
        how="its table of features calls the two unknown",
        source=_FEATURES,
    ),
    Pair(
        features=(Feature.ADAPTERS, Feature.MULTIMODAL),
        support=Support.UNTESTED,
        how="an adapter changes the language part alone",
        source=_FEATURES,
    ),
    Pair(
        features=(Feature.STRUCTURED_OUTPUT, Feature.PIPELINE_PARALLEL),
        support=Support.UNTESTED,
        how="where its older model runner serves, as it does mixtures of experts in 0.25 and 0.26, "
        "a request with a schema may end with 500; 0.31 runs such engines one step at a time",
        source=_read("issue 45014; config/vllm.py, use_v2_model_runner"),
        before="0.31",
    ),
)
