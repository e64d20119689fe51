import pytest


@pytest.fixture(scope="session")
def pair():
    """The embedded target with its drafts, in float32: loaded once for all who ask."""
    from core import load
    return load.load(dtype="float32", device="cpu")
