"""The two kinds of failure that a user sees. Each message is one sentence: what was wrong and what to do."""


class Failure(Exception):
    """`reason` (a key) and `values` (what fills the sentence; settings by their names in core.methods.settings) let the page write its own
    sentence, translated and without command-line flags. With reason "" there is only the message."""

    def __init__(self, message: str = "", reason: str = "", **values: object) -> None:
        super().__init__(message)
        self.reason, self.values = reason, values


class UserError(Failure):
    """The user's mistake: a bad option, prompt, file or pair. Exit code 2."""


class EnvironmentFailure(Failure):
    """A fault of the machine or network: disk, memory, a missing tool. Exit code 1."""
