"""Recorded answers, said again on paper: how many tokens each setting would have drafted."""
