"""What every process of the product stands on."""

import os

# Before pydantic is loaded, which else looks for plugins in all installed packages whenever a
# process starts. Nobody here has one.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
