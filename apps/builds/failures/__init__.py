"""Why a build failed, and what can be done about it."""
