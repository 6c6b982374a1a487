"""Runtimes over REST: everyone sees them, as nodes serve every team."""

from collections.abc import Iterable

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.dashboard.runtimes.hosts import RuntimeHosts
from apps.dashboard.runtimes.serializers import (
    RuntimeListObject,
    RuntimeQuery,
    RuntimeTableObject,
    runtime_json,
    table_json,
)
from apps.rest.errors import NotFound
from apps.rest.serializers import validated
from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.runtimes.tables import table_of


class RuntimeListView(TeamView):
    @extend_schema(responses=RuntimeListObject)
    def get(self, request: Request) -> Response:
        """Return every runtime with the hosts that start it."""
        hosts = RuntimeHosts()
        bodies = [runtime_json(each, hosts) for each in RUNTIMES.values()]
        return Response(RuntimeListObject({"runtimes": bodies}).data)


class RuntimeDetailView(TeamView):
    @extend_schema(parameters=[RuntimeQuery], responses=RuntimeTableObject)
    def get(self, request: Request, runtime: str) -> Response:
        """Return what a runtime can do in one version, on each kind of GPU."""
        query = validated(RuntimeQuery, request.query_params)
        hosts, runtime_object = RuntimeHosts(), _runtime(runtime)
        version = _version(runtime_object, query.get("version") or hosts.version_of(runtime_object))
        table = table_of(runtime_object, version, owned=hosts.kinds)
        return Response(RuntimeTableObject(table_json(table, hosts)).data)


def _runtime(name: str) -> Runtime:
    if name not in RUNTIMES:
        raise NotFound(f"There is no runtime `{name}`.", hint=f"There are {_listed(RUNTIMES)}.")
    return RUNTIMES[name]


def _version(runtime: Runtime, version: str) -> str:
    known = runtime.capabilities.VERSIONS
    if version not in known:
        raise NotFound(
            f"There is no table of {runtime.label} `{version}`.",
            hint=f"There is one of {_listed(known)}.",
        )
    return version


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)
