from typing import Any

from apps.accounts.models import Team
from apps.configs.traffic_samples.selectors import consent_of, sampled_models


def consent_fields(team: Team) -> dict[str, Any]:
    """Return the team's consent; a share of 0 where it gave none."""
    consent = consent_of(team)
    if consent is None:
        none = dict.fromkeys(("kept_days", "consented_at", "consented_by"))
        return {"share": 0.0, **none, "models": []}
    return {
        "share": consent.share,
        "kept_days": consent.kept_days,
        "consented_at": consent.created_at,
        "consented_by": consent.created_by.email if consent.created_by else None,
        "models": sampled_models(consent),
    }
