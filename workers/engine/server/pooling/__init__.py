"""The routes of an engine that pools."""
