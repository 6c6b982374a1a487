"""Reading the sources of engines for what they refuse, and holding it against what is known."""
