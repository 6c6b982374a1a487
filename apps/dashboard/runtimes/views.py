from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.pages import page
from apps.dashboard.runtimes.hosts import RuntimeHost, RuntimeHosts
from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.runtimes.open_routes import nearest_version
from controlplane.domain.runtimes.tables import table_of


@dataclass(frozen=True, kw_only=True)
class RuntimeLine:
    runtime: Runtime
    hosts: tuple[RuntimeHost, ...]


@page
@require_GET
def runtimes(request: HttpRequest) -> HttpResponse:
    hosts = RuntimeHosts()
    runtime = RUNTIMES.get(request.GET.get("runtime", "")) or hosts.usual()
    is_wide = request.GET.get("gpus") == "every" or not hosts.kinds
    owned = hosts.kinds if hosts.has_gpus or not runtime.needs_gpu else ()
    table = table_of(
        runtime, _version(request, hosts, runtime), owned=owned, only_owned=not is_wide
    )
    context = {
        "lines": [RuntimeLine(runtime=each, hosts=hosts.of(each)) for each in RUNTIMES.values()],
        "table": table,
        "has_hosts": bool(hosts.kinds),
        "has_owned": any(column.is_owned for column in table.columns),
        "is_wide": is_wide,
        "kinds_query": "&gpus=every" if is_wide and hosts.kinds else "",
    }
    return render(request, "dashboard/runtimes.html", context)


def _version(request: HttpRequest, hosts: RuntimeHosts, runtime: Runtime) -> str:
    version = request.GET.get("version", "")
    known = runtime.capabilities.VERSIONS
    nearest = nearest_version(known, version) if version[:1].isdecimal() else None
    return nearest or hosts.version_of(runtime)
