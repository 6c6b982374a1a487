"""Parts of a build's page."""
