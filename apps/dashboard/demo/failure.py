"""What a person is told when the demonstration cannot go on."""


class DemoFailed(Exception):
    """The demonstration stopped; the message is one sentence that says why and what to do."""
