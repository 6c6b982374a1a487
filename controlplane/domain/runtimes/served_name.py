from controlplane.domain.spec import Spec

FALLBACK_MODEL_NAME = "model"


def served_model_name(spec: Spec) -> str:
    """Return the name that `/v1/models` lists: the served one, the config's, or the repo's."""
    repo = spec.checkpoint.repo.rstrip("/").rsplit("/", 1)[-1] if spec.checkpoint else ""
    return spec.served_model_name or spec.model_name or repo or FALLBACK_MODEL_NAME
