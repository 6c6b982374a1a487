"""Command lines of other servers: `importing` reads one into a config, `exporting` writes one."""
