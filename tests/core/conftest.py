import pytest
import torch

from core.models import graphs

SUBTLE = ("near", "perfect", "early exit")      # drafts accepted often enough that a cache rolled back wrongly shows


def pytest_collection_modifyitems(config, items):
    """Pairs instead of full products: every draft runs directly in float64; the subtle ones also run through static buffers in float32."""
    left_out = [item for item in items if hasattr(item, "callspec") and _is_redundant(item.callspec.params)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _is_redundant(params: dict) -> bool:
    static, dtype, subtle = params.get("runner") == "static", params.get("to"), params.get("name", SUBTLE[0]) in SUBTLE
    if dtype in (torch.float32, torch.float64):
        return static != (dtype == torch.float32) or (static and not subtle)
    return static and not subtle


@pytest.fixture(scope="session")
def pair():
    """The embedded target with its drafts, in a row-exact arithmetic on the CPU, loaded once a session."""
    from core.checkpoints import load
    return load.load(dtype="w16a32", device="cpu")


@pytest.fixture(params=["direct", "static"])
def runner(request, monkeypatch):
    """Runs the test twice: directly, and through the static buffers that stand for CUDA graphs. For tests that output is lossless."""
    if request.param == "static":
        monkeypatch.setattr(graphs, "CPU_BY_DEFAULT", True)
    return request.param


@pytest.fixture
def fake(monkeypatch):
    """The fake GPU of tests.core.fake_gpu, with models and generators on it: (device, NoHost)."""
    from core.methods.base import Context
    from tests.core import fake_gpu, tiny
    with fake_gpu.gpu() as (where, watch):
        monkeypatch.setattr(tiny, "DEVICE", where)
        monkeypatch.setattr(torch, "Generator", fake_gpu.HostGenerator(torch.Generator))
        monkeypatch.setattr(Context, "uniforms", lambda self, n: torch.full((n,), 0.5, dtype=torch.float64, device=where))
        yield where, watch
