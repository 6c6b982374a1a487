"""The config reference: every field, its limits, who reads it and which rules are about it."""

from controlplane.domain.config_reference.blocks import config_blocks
from controlplane.domain.config_reference.document import write_reference
from controlplane.domain.config_reference.fields import ConfigBlock, ConfigField

__all__ = ["ConfigBlock", "ConfigField", "config_blocks", "write_reference"]
