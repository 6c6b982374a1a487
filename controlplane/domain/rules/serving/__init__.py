"""EH6: what an engine serves, by which routes and settings, and which engine can."""
