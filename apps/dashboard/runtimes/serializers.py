"""Runtimes over REST: who starts them, and the tables that the checks read."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from apps.dashboard.runtimes import examples
from apps.dashboard.runtimes.hosts import RuntimeHosts
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer
from controlplane.domain.facts.sources import Source
from controlplane.domain.runtimes import Runtime
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.runtimes.tables import RuntimeTable

_SUPPORTS = [each.value for each in Support]
_FEATURES = [each.value for each in Feature]


class RuntimeQuery(StrictSerializer):
    """Which version to tell of."""

    version = serializers.CharField(
        required=False,
        max_length=32,
        help_text="Of `versions`; that of the hosts where it is absent.",
    )


class RuntimeHostObject(serializers.Serializer[Any]):
    node_id = serializers.CharField(help_text="The node.")
    name = serializers.CharField(help_text="The node's name.")
    version = serializers.CharField(help_text="What it ran last; empty where it ran none yet.")


@shown_as(examples.RUNTIME)
class RuntimeObject(serializers.Serializer[Any]):
    """A runtime and the hosts that start it."""

    name = serializers.CharField(help_text="As `enginehouse.runtime` says it.")
    label = serializers.CharField(help_text="Its own name.")  # type: ignore[assignment]
    versions = serializers.ListField(
        child=serializers.CharField(), help_text="Those with a table, oldest first."
    )
    version_here = serializers.CharField(
        help_text="The oldest that hosts ran, else the one that is planned for."
    )
    needs_gpu = serializers.BooleanField(help_text="Whether it serves on GPUs alone.")
    run_by_us = serializers.CharField(help_text="How the project ran it, in words.")
    hosts = RuntimeHostObject(many=True, help_text="Hosts that are set up to start it.")


class RuntimeListObject(serializers.Serializer[Any]):
    runtimes = RuntimeObject(many=True, help_text="Every runtime.")


class SourceObject(serializers.Serializer[Any]):
    document = serializers.CharField(help_text="Where it was read or measured.")
    section = serializers.CharField(help_text="The part of it.")
    checked = serializers.CharField(help_text="The day that it was checked last.")


class FeatureObject(serializers.Serializer[Any]):
    """What the runtime makes of a feature on kinds of GPU for which it is the same."""

    feature = serializers.ChoiceField(choices=_FEATURES, help_text="What is asked of it.")
    kinds = serializers.ListField(
        child=serializers.CharField(), help_text="As `resources.accelerator` names them."
    )
    support = serializers.ChoiceField(
        choices=_SUPPORTS,
        help_text="`native`: as asked. `emulated`: the same result by other means. `untested`: one "
        "of the two, not seen to run on such a GPU. `refused`: not at all.",
    )
    how = serializers.CharField(help_text="How, or why not.")
    source = SourceObject(  # type: ignore[assignment]
        allow_null=True, help_text="What it stands on; null where it is our own engine's."
    )
    seen_in = serializers.ListField(
        child=serializers.CharField(), help_text="Kept runs and tests that show it."
    )


class FeaturePairObject(serializers.Serializer[Any]):
    """Two features that are less together than either alone."""

    features = serializers.ListField(
        child=serializers.ChoiceField(choices=_FEATURES),
        min_length=2, max_length=2, help_text="The two.",
    )  # fmt: skip
    support = serializers.ChoiceField(choices=_SUPPORTS, help_text="What the two are together.")
    how = serializers.CharField(help_text="How, or why not.")
    source = SourceObject(help_text="What it stands on.")  # type: ignore[assignment]


@shown_as(examples.TABLE)
class RuntimeTableObject(RuntimeObject):
    """What a runtime can do in one version."""

    version = serializers.CharField(help_text="The version that the rest is of.")
    owned_kinds = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of GPU that hosts have."
    )
    features = FeatureObject(many=True, help_text="Feature by feature, owned kinds first.")
    pairs = FeaturePairObject(
        many=True,
        help_text="Two features together; a pair that is absent is as the weaker of the two.",
    )


def runtime_json(runtime: Runtime, hosts: RuntimeHosts) -> dict[str, Any]:
    return {
        "name": runtime.name,
        "label": runtime.label,
        "versions": list(runtime.capabilities.VERSIONS),
        "version_here": hosts.version_of(runtime),
        "needs_gpu": runtime.needs_gpu,
        "run_by_us": runtime.run_by_us,
        "hosts": [asdict(each) for each in hosts.of(runtime)],
    }


def table_json(table: RuntimeTable, hosts: RuntimeHosts) -> dict[str, Any]:
    return {
        **runtime_json(table.runtime, hosts),
        "version": table.version,
        "owned_kinds": list(hosts.kinds),
        "features": [
            {
                "feature": row.feature.value,
                "kinds": list(cell.column.kinds),
                "support": cell.capability.support.value,
                "how": cell.capability.how,
                "source": _source(cell.capability.source),
                "seen_in": [each.kept for each in cell.capability.proofs],
            }
            for row in table.rows
            for cell in row.cells
        ],
        "pairs": [
            {
                "features": [each.value for each in pair.features],
                "support": pair.support.value,
                "how": pair.how,
                "source": _source(pair.source),
            }
            for pair in table.pairs
        ],
    }


def _source(source: Source | None) -> dict[str, str] | None:
    return asdict(source) if source else None
