import pytest

from core.models import graphs


@pytest.fixture(scope="session")
def pair():
    """The embedded target with its drafts, in float32: loaded once for all who ask."""
    from core.checkpoints import load
    return load.load(dtype="float32", device="cpu")


@pytest.fixture(params=["direct", "static"])
def runner(request, monkeypatch):
    """Every run of a test directly and through the static buffers that stand for CUDA graphs: proofs of lossless ask for it."""
    if request.param == "static":
        monkeypatch.setattr(graphs, "CPU_BY_DEFAULT", True)
    return request.param


@pytest.fixture
def fake(monkeypatch):
    """A GPU that has no values: (device, what watches it)."""
    import torch

    from core.methods.base import Context
    from tests.core import fake_gpu, tiny
    with fake_gpu.gpu() as (where, watch):
        monkeypatch.setattr(tiny, "DEVICE", where)
        monkeypatch.setattr(torch, "Generator", fake_gpu.HostGenerator(torch.Generator))
        monkeypatch.setattr(Context, "uniforms", lambda self, n: torch.full((n,), 0.5, dtype=torch.float64, device=where))
        yield where, watch
