"""The Prometheus page of a team's deployments."""
