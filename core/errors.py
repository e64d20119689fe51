"""The two failures a person can meet. Each message is one clear sentence: what was wrong and what to do."""


class UserError(Exception):
    """The user's mistake: a bad option, prompt, file or pair. Exit code 2."""


class EnvironmentFailure(Exception):
    """The machine's trouble: network, disk, memory, a missing tool. Exit code 1."""
