"""Series: what was measured over time, rolled up, for every page, program and rule that asks."""
