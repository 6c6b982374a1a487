"""An engine's package on this host: in a Python environment of its own, or in an image."""

from collections.abc import Mapping

from controlplane.domain.failures.registry import containers
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.image import PYTHON, find_image, version_in
from workers.runtimes.installed import Installed
from workers.runtimes.package_version import package_version


def own_or_image(
    package: str, *, python: str, reference: str, environment: Mapping[str, str]
) -> Installed | None:
    """Return what is started of `python` or of the image `reference`; None where neither has it.

    Raises ContainerRefused where both are named, or where the image cannot be used.
    """
    if python and reference:
        raise ContainerRefused.of(
            containers.SETTINGS, package=package, python=python, image=reference
        )
    if reference:
        image = find_image(reference, environment)
        return Installed(
            python=PYTHON, version=version_in(image, package, environment), image=image
        )
    version = package_version(python, package) if python else None
    if version is None:
        return None
    # This program's own packages must not shadow those that the engine was installed with.
    return Installed(python=python, version=version, environment={"PYTHONPATH": ""})
