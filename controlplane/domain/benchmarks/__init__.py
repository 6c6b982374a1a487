"""Benchmarks of deployments: what is asked, how hard, and what the answers amount to; pure."""
