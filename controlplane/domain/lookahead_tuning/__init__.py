"""Which lookahead settings pay for recorded answers, and how much: pure, from counted steps."""
