"""What the core says of a deployment before it is ordered."""

from collections.abc import Mapping
from typing import Any

from apps.configs.selectors import host_offers
from apps.rest.errors import InvalidInput
from controlplane.domain.rules import Known, diagnose
from controlplane.domain.rules.card_advice import MORE_REPLICAS
from controlplane.domain.rules.context import Context
from controlplane.domain.spec import Spec


def refuse_more_replicas_than_cards(*, spec: Mapping[str, Any], replicas: int) -> None:
    """Raise InvalidInput where all hosts together have too few cards for so many replicas."""
    known = Known(cards=host_offers(), replicas=max(1, replicas))
    context = Context(spec=Spec.model_validate(spec), known=known)
    for finding in diagnose(context, (MORE_REPLICAS,)).findings:
        raise InvalidInput(
            finding.message,
            code=finding.code,
            fields=["min_replica"],
            hint="Ask for fewer replicas, or enroll more hosts with such cards.",
        )
