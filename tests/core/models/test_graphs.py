"""GraphRunner with a CPU's static buffers: stale inputs, overwritten outputs, freed buffers, lengths, and whole runs of every method."""
from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from core.decoding.loop import Decoding, Options
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.methods.early_exit import EarlyExit
from core.models import graphs, host_copy
from core.models.cache import GraphCacheView
from core.models.graphs import GraphRunner
from core.models.target import DecoderTarget, graph_runner
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.methods.proofs import REPEATING, facts
from tests.core.methods.test_statistics_methods import METHODS, SIZE
from tests.core.tiny import PROMPT, emitted

STATIC = {"graphs": True}
SAMPLINGS = {"greedy": Sampling(), "all": Sampling(1.1, 5, 0.9, 0.01, 1.4)}


@dataclass(frozen=True)
class Add:
    by: int

    def __call__(self, cache, x: Tensor, y: Tensor | None) -> tuple:
        return x + self.by if y is None else x + y + self.by, None, self.by


def test_outputs_outlive_the_next_replay():
    """A replay overwrites the static outputs, so what the last call returned must be a copy."""
    runner = GraphRunner()
    one, two = (runner.run(Add(1), None, 0, torch.tensor([x]), None) for x in (10, 20))
    assert (one[0].tolist(), two[0].tolist()) == ([11], [21]) and one[1:] == two[1:] == (None, 1) and len(runner.captured) == 1


def test_a_captured_function_is_known_by_its_fields_and_the_shapes_of_its_inputs():
    runner = GraphRunner()
    x = torch.tensor([1, 2])
    for function, inputs in ((Add(1), (x, None)), (Add(2), (x, None)), (Add(1), (x, x)), (Add(1), (x[:1], None)), (Add(1), (x.double(), None))):
        want = function(None, *inputs)[0]
        for _ in range(2):
            assert torch.equal(runner.run(function, None, 0, *inputs)[0], want)
    assert len(runner.captured) == 5


def test_the_least_recently_used_captured_function_goes_first():
    runner = GraphRunner(limit=2)
    x = torch.tensor([1])
    for by in (1, 2, 1, 3, 1):
        assert runner.run(Add(by), None, 0, x, None)[0].item() == 1 + by
    assert [key[0].by for key in runner.captured] == [3, 1]


def test_a_function_is_captured_at_its_second_call():
    runner = GraphRunner()
    runner.direct_first = 1
    for n in range(3):
        assert len(runner.captured) == int(n > 1)
        runner.run(Add(1), None, 0, torch.tensor([n]), None)
    assert len(runner.captured) == 1 and not runner.direct_calls


@pytest.mark.parametrize(("mode", "need", "most", "want"), [("static", 1, 999, 32), ("static", 33, 999, 64), ("static", 33, 40, 40),
                                                            ("cuda", 129, 9999, 256), ("cuda", 600, 9999, 1024), ("cuda", 600, 700, 700)])
def test_buckets(mode, need, most, want):
    runner = GraphRunner(enabled=False)
    runner.mode = mode
    assert runner.bucket(need, most) == want


def test_why_a_run_is_not_captured():
    to = tiny.target()
    assert graph_runner(to, None).label == "off: a CPU runs every pass directly" and graph_runner(to, False).label == "off: --no-graphs"
    assert graph_runner(to, True).label == "static" and graph_runner(to, True) is to.graphs
    assert GraphRunner("xpu").label == "off: xpu has no graphs"

    class Other:
        device = torch.device("cpu")
    assert graph_runner(Other(), True).label == "off: the target runs through transformers"
    to.direct = "quantised"
    assert graph_runner(to, True).label == "off: quantised"


# -- GraphCacheView ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"sliding_window": 6}, {"num_kv_heads": 4}], ids=["plain", "sliding", "no groups"])
@pytest.mark.parametrize("split", [[1] * 6, [3, 3], [2, 4]])
def test_a_pass_within_a_window_is_the_direct_pass(changes, split):
    model = tiny.decoder(max_positions=200, **changes)
    tokens = torch.tensor([[(5 * i * i + i) % 20 for i in range(40)]])
    with torch.inference_mode():
        want = model(tokens[:, :36])[0]
        for bucket in (36, 64, 96):
            cache = model.new_cache(96)
            model(tokens[:, :30], cache)
            view = GraphCacheView(cache, torch.tensor([30]), bucket)
            at, got = 30, []
            for n in split:
                got.append(model(tokens[:, at:at + n], view)[0])
                at += n
            torch.testing.assert_close(torch.cat(got), want[30:], rtol=0, atol=1e-9)
            assert (view.length, view.longest) == (6, 6)


def test_a_full_cache_raises():
    to = tiny.target()
    runner, cache = GraphRunner(), to.model.new_cache(8)
    from core.measuring.costs import Pass
    with torch.inference_mode():
        for want in (3, 6):
            runner.run(Pass(to, 3), cache, 3, torch.tensor([1, 2, 3]))
            assert cache.length == want
        with pytest.raises(IndexError, match="8 positions cannot take position 8"):
            runner.run(Pass(to, 3), cache, 3, torch.tensor([1, 2, 3]))
    assert cache.length == 6


# -- runs that share a runner ------------------------------------------------------------------------------------------------------


def runs_agree(to: DecoderTarget, proposer: Proposer, prompt: list[int] = PROMPT, **options) -> None:
    """A direct run equals a captured one that launches each round before the last one is finished, as with CUDA."""
    both = []
    for captured in (False, True):
        proposer.forget()
        both.append(facts(tiny.decode(to, proposer, prompt, graphs=captured, ahead=captured, **options)[1]))
    assert rounded(both[0]) == rounded(both[1])


def rounded(x):
    """To 9 digits: attention over a masked bucket adds in another order."""
    return [rounded(y) for y in x] if isinstance(x, (list, tuple)) else round(x, 9) if isinstance(x, float) else x


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_does_the_same_as_directly(name, sampling):
    to = DecoderTarget(tiny.decoder(num_layers=3, vocab_size=SIZE))
    proposer, prompt = METHODS[name](to), [x % SIZE for x in REPEATING]
    for seed in (3, 4):
        runs_agree(to, proposer, prompt, sampling=sampling, seed=seed, max_new_tokens=30)
    assert to.graphs.captured


def test_runs_of_other_lengths_options_and_proposers_share_it():
    to = tiny.target(max_positions=1400)
    long = [(7 * i * i + i) % 20 for i in range(600)]
    drafts = [DraftModel(to.model), tiny.other_model(to.model), EarlyExit(to, "1")]
    for n, prompt in ((8, PROMPT), (60, PROMPT), (8, long), (5, PROMPT)):
        for sampling in (Sampling(), Sampling(0.7)):
            for proposer in drafts:
                runs_agree(to, proposer, prompt, max_new_tokens=n, sampling=sampling)
    assert len(to.graphs.captured) <= to.graphs.limit


def test_eviction_and_late_capture_change_nothing():
    for limit, direct_first in ((1, 0), (2, 1), (32, 1)):
        to = tiny.target()
        to.graphs = GraphRunner(limit=limit)
        to.graphs.direct_first = direct_first
        for _ in range(3):
            runs_agree(to, tiny.near_model(to.model, 0.3), max_new_tokens=40, sampling=Sampling(1.0))
        assert len(to.graphs.captured) <= limit


def test_a_longer_run_takes_larger_buffers_and_a_shorter_one_keeps_them():
    to, sizes = tiny.target(max_positions=300), []
    for n in (10, 100, 20):
        run = Decoding(to, Proposer(), PROMPT, Options(n, **STATIC))
        sizes.append(run.ctx.cache.capacity)
        assert emitted(list(run)) == tiny.greedy(to.model, PROMPT, n)
        assert all(key[1] is to.graphs.idle_caches[to.model] for key in to.graphs.captured)
    assert sizes == [32, 128, 128]


def test_a_cancelled_run_and_two_runs_at_a_time_leave_nothing_behind():
    to = tiny.target()
    want = tiny.greedy(to.model, PROMPT, 20)
    cancelled = iter(Decoding(to, DraftModel(to.model), [9, 9, 9], Options(30, **STATIC)))
    next(cancelled), next(cancelled)
    cancelled.close()
    one, two = (Decoding(to, DraftModel(to.model), PROMPT, Options(20, **STATIC)) for _ in range(2))
    for _ in zip(one, two):
        pass
    list(one), list(two)
    assert one.new_tokens == two.new_tokens == want
    assert emitted(tiny.decode(to, DraftModel(to.model), max_new_tokens=20, **STATIC)[1]) == want


def test_nan_does_not_reach_the_next_run():
    """A masked NaN still makes a sum NaN: caches are zeroed before the next run gets them."""
    to = tiny.target()
    tiny.decode(to, Proposer(), max_new_tokens=20, **STATIC)
    cache = to.graphs.idle_caches[to.model]
    with torch.inference_mode():
        cache.k.fill_(float("nan")), cache.v.fill_(float("nan"))
    _, rounds = tiny.decode(to, Proposer(), max_new_tokens=10, **STATIC)
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 10)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("captured", [False, True])
def test_one_wait_a_round(name, captured):
    to = DecoderTarget(tiny.decoder(num_layers=3, vocab_size=SIZE))
    before = host_copy.waits
    _, rounds = tiny.decode(to, METHODS[name](to), [x % SIZE for x in REPEATING], sampling=Sampling(1.0), graphs=captured)
    assert host_copy.waits - before == len(rounds) > 1


# -- capture -----------------------------------------------------------------------------------------------------------------------


class Collecting(graphs._StaticCall):
    """Keeps every call that is captured."""
    found: list = []

    def prepare(self, pool) -> bool:
        Collecting.found.append(self)
        return super().prepare(pool)


@pytest.mark.filterwarnings("ignore:.*lru_cache")
@pytest.mark.parametrize("name", ["draft", "early-exit", "medusa auto", "eagle auto",
                                  *(pytest.param(name, marks=pytest.mark.long) for name in ("draft 2x2", "eagle", "eagle static"))])
def test_captured_functions_are_one_graph(name):
    """torch.compile with fullgraph: no captured function depends on a value of its tensors, and its graph computes the same."""
    to = DecoderTarget(tiny.decoder(num_layers=3, vocab_size=SIZE))
    to.graphs = GraphRunner()
    to.graphs.call_type = Collecting
    Collecting.found = []
    sampling = Sampling(1.1, 5, 0.9, 0.02, 1.3)
    tiny.decode(to, METHODS[name](to), [x % SIZE for x in REPEATING], sampling=sampling, draft_len=2, max_new_tokens=5, **STATIC)
    kinds = {type(s.function).__name__: s for s in Collecting.found}
    assert len(kinds) == 2 and "Verification" in kinds
    torch._dynamo.reset()
    for static in kinds.values():
        with torch.inference_mode():
            tensors = [None if x is None else x.clone() for x in static.inputs]
            compiled = torch.compile(lambda *given, s=static: tensors_of(s, given), fullgraph=True, backend="eager", dynamic=False)
            for got, want in zip(compiled(*tensors), tensors_of(static, tensors)):
                torch.testing.assert_close(got, want, rtol=0, atol=1e-12, equal_nan=True)


def tensors_of(static: graphs._StaticCall, given) -> tuple:
    if static.view is not None:
        static.view.begin()
    return tuple(x for x in static.function(static.view, *given) if isinstance(x, Tensor))
