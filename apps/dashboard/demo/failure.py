class DemoFailed(Exception):
    """The demonstration stopped; the message is one sentence that says why and what to do."""
