"""One search over pages, configs, models, builds, nodes and secrets, by name."""
