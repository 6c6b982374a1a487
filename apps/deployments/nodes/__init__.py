"""What of deployments is on a node."""
