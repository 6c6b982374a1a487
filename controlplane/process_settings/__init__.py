"""What each process is set up with: environment variables, each declared once.

No Django here: agents and gateways read theirs with it too.
"""
