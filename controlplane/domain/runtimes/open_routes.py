"""Which routes of an engine clients may call: by its runtime and its version."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.wire.client_routes import HOSTED, Routes


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenRoutes:
    """`of_version` is whose table it is; None where the runtime has none."""

    routes: Routes
    of_version: str | None


@lru_cache(maxsize=256)
def open_routes(runtime: str, version: str | None = None) -> OpenRoutes:
    """Return the routes of the nearest version that is not above this one.

    The newest table where no version is known yet; the oldest where none is as old.
    """
    known = RUNTIMES.get(runtime)
    tables: Mapping[str, Routes] = known.routes.ROUTES if known else {}
    nearest = nearest_version(tables, version)
    return OpenRoutes(routes=tables[nearest] if nearest else HOSTED, of_version=nearest)


def nearest_version(versions: Iterable[str], version: str | None) -> str | None:
    """Return the nearest version that is not above this one; None where there is none at all."""
    ordered = sorted(versions, key=_parts)
    below = [each for each in ordered if version is None or _parts(each) <= _parts(version)]
    return next(iter([*below[-1:], *ordered[:1]]), None)


def borrowed_routes(runtime: str, version: str) -> str:
    """Return what it means that a version has no list of its own; empty where it has one."""
    of_version = open_routes(runtime, version).of_version
    if of_version is None or _parts(of_version) == _parts(version):
        return ""
    return (
        f"{RUNTIMES[runtime].title} `{version}` has no list of routes of its own and takes that of "
        f"`{of_version}`: a route that is not on it is answered 404 until "
        "`enginehouse.extra_routes` opens it, and one that this version changed passes as before."
    )


def _parts(version: str) -> tuple[int, ...]:
    """Return major and minor version; what is no number counts as none."""
    major_and_minor = version.partition("+")[0].split(".")[:2]
    return tuple(int(each) if each.isdecimal() and len(each) < 9 else 0 for each in major_and_minor)
