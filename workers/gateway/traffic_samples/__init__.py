"""Outlines of a consenting team's answers, for the tuner of lookahead: kept here, without words."""
