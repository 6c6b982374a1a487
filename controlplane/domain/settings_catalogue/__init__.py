"""Every environment variable that an installation can be set up with."""

from controlplane.domain.settings_catalogue.builds import CHECKPOINTS_AND_BUILDS
from controlplane.domain.settings_catalogue.hosts import HOSTS
from controlplane.domain.settings_catalogue.installation import INSTALLATION
from controlplane.domain.settings_catalogue.logs import LOGS
from controlplane.domain.settings_catalogue.places import PLACES
from controlplane.domain.settings_catalogue.reference import write_reference
from controlplane.domain.settings_catalogue.setting import Group, Setting

SETTINGS = (PLACES, INSTALLATION, CHECKPOINTS_AND_BUILDS, HOSTS, LOGS)

__all__ = ["SETTINGS", "Group", "Setting", "write_reference"]
