"""What is wrong with a config, why, and what would mend it."""

from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.rules.catalogue import ALL_RULES, FAMILIES
from controlplane.domain.rules.context import Context, Known, context_of, every_kind
from controlplane.domain.rules.diagnose import diagnose
from controlplane.domain.rules.examine import Examination, examine, examine_with_fixes
from controlplane.domain.rules.report import Finding, OfferedFix, Report, Waiting
from controlplane.domain.rules.rule import Rule, Severity
from controlplane.domain.runtimes.effective_value import EffectiveValue

__all__ = [
    "ALL_RULES",
    "FAMILIES",
    "Context",
    "DeviceOffer",
    "EffectiveValue",
    "Examination",
    "Finding",
    "Known",
    "OfferedFix",
    "Report",
    "Rule",
    "Severity",
    "Waiting",
    "context_of",
    "diagnose",
    "every_kind",
    "examine",
    "examine_with_fixes",
]
