"""How many replicas a deployment should run: settings, the formula, decisions, and a simulator."""
