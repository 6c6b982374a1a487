"""Questions to gateways on behalf of who asked for later; knows nothing of rows."""
