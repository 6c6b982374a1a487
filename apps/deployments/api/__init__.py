"""Models, deployments and environments over REST, with the hosted product's paths."""
