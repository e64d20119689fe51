"""Whole runs of every method on a fake GPU without values: only the one copy a round waits, and nothing mixes host and device."""
from __future__ import annotations

import pytest
import torch

from core.decoding import loop
from core.decoding.loop import Decoding, Options
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.sampling.probs import Sampling
from tests.core import fake_gpu, tiny
from tests.core.methods.test_statistics_methods import BLOCK, METHODS, SIZE

SAMPLINGS = {"greedy": Sampling(), "all": Sampling(1.1, 5, 0.9, 0.02, 1.3)}
REDUCED = {"draft, reduced head": lambda to: DraftModel(tiny.decoder(7, num_layers=1, vocab_size=SIZE, head_size=5), known(to)),
           "draft 2x1, reduced head": lambda to: DraftTree(tiny.decoder(7, num_layers=1, vocab_size=SIZE, head_size=5), known(to), (2, 1))}
ALL = {"plain": lambda to: Proposer(), **METHODS, **REDUCED}
CASES = [(name, "chain") for name in ALL] + [(name, "block") for name in BLOCK] + [("medusa auto", "typical"), ("draft", "typical")]
CASES += [(name, "coupled") for name in ALL]


def known(to) -> torch.Tensor:
    return torch.tensor([0, 1, 3, 5, 6]).to(to.device)


def made_up(keep: str):
    """A stand-in for `wait`: the facts of a round that accepted all (of a tree: the last node) or none of its drafted tokens. keep: all or none."""
    def wait(copy):
        layout = copy.layout
        sizes = dict(layout)
        n = sizes["tokens"][0]
        host = {name: filled(shape) for name, shape in layout}
        tree = "parents" in sizes
        host["parents"] = [-1] * n if tree else []
        accepted = [keep == "all" and (not tree or i == n - 1) for i in range(n)]
        host |= {"accepted": accepted, "tested": [True] * n, "tokens": [1] * n, "next": [2, max((i + 1 for i in range(n) if accepted[i]), default=0)]}
        if not tree:
            del host["parents"]
        return host
    return wait


def filled(shape) -> list:
    return 1.0 if not shape else [filled(shape[1:]) for _ in range(shape[0])]


PAIRS = [(*case, sampling) for i, case in enumerate(CASES) for j, sampling in enumerate(SAMPLINGS) if (i + j) % 2]    # the other half: -m long


@pytest.mark.parametrize(("name", "how", "sampling"), [pytest.param(*case, sampling, marks=[] if (*case, sampling) in PAIRS else pytest.mark.long)
                                                       for case in CASES for sampling in SAMPLINGS])
def test_rounds_stay_on_the_device(fake, monkeypatch, name, how, sampling):
    whole_run(fake, monkeypatch, name, how, SAMPLINGS[sampling])


def whole_run(fake, monkeypatch, name, how, sampling):
    where, watch = fake
    to = tiny.DecoderTarget(tiny.decoder(0, tiny.F32, num_layers=3, vocab_size=SIZE))
    proposer = ALL[name](to)
    for part in (proposer, getattr(proposer, "second", None)):
        if getattr(getattr(part, "head", None), "token_map", None) is not None:
            part.head.token_map = part.head.token_map.to(where)
    to.graphs = runner = fake_gpu.GraphRunner(where, watch)
    monkeypatch.setattr(loop, "wait", made_up(keep := "all" if sampling.greedy else "none"))
    run = Decoding(to, proposer, [1, 2, 1, 2, 1], Options(6 if keep == "all" else 4, 2, sampling, verify=how, graphs=True, ahead=True))
    rounds = list(run)
    assert run.stop == "length" and "Verification" in runner.done
    assert any(r.drafted for r in rounds) == (name != "plain")
    assert len(set(runner.done)) == (1 if name in ("plain", "lookup", "suffix", "lookup+draft") else 2)


def test_the_fake_gpu_raises_on_what_would_wait(fake):
    """The negative controls of the test above."""
    where, watch = fake
    x = torch.zeros(2, 5, 3, device=where)
    number = torch.zeros((), dtype=torch.long, device=where)
    wrong = [lambda: x[0, 0, 0].item(), x.tolist, lambda: bool(x.sum() > 0), lambda: x[x > 0], x.nonzero, lambda: x[number],
             lambda: x + torch.ones(1), lambda: x * torch.tensor(2.0), lambda: x[:, torch.tensor([0])], x.cpu,
             lambda: x.index_select(1, torch.tensor([0]))]
    watch.strict = True
    for act in wrong:
        with pytest.raises(Exception, match=r"aten|device"):
            act()
    with pytest.raises(AssertionError):
        torch.zeros(2).to(where)
