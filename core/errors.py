"""The two failures a person can meet. Each message is one clear sentence: what was wrong and what to do."""


class Failure(Exception):
    """`reason` and `values` say the message in pieces (names of settings as they stand in core.methods.settings), for a page that has its own
    words and no flags; no reason: the message is all there is."""

    def __init__(self, message: str = "", reason: str = "", **values: object) -> None:
        super().__init__(message)
        self.reason, self.values = reason, values


class UserError(Failure):
    """The user's mistake: a bad option, prompt, file or pair. Exit code 2."""


class EnvironmentFailure(Failure):
    """The machine's trouble: network, disk, memory, a missing tool. Exit code 1."""
