"""The answer guard of a roll: both deployments are asked the same before any traffic moves."""
