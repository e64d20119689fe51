"""Chi-square of two-token continuations, 20,000 for every method under every sampling option.

The distributions that each real proposer drafts from are tabulated: uniforms that force each token are given to it, and q of the next
node is read. Rounds are then sampled from the tables, many at once, and verified by the real verifiers.
"""
from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from core.checkpoints.formats.eagle import EagleTensors
from core.checkpoints.formats.medusa import MedusaTensors
from core.methods.base import Draft, Proposer
from core.methods.combined import Combined
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.methods.eagle import Eagle
from core.methods.eagle_head import EagleHead
from core.methods.early_exit import EarlyExit
from core.methods.medusa import Medusa, MedusaHeads
from core.methods.prompt_lookup import PromptLookup
from core.methods.suffix import Suffix
from core.models.target import DecoderTarget
from core.sampling import probs, verify
from core.sampling.probs import Sampling
from core.sampling.tree import Tree
from tests.core import heads, tiny
from tests.core.methods import proofs
from tests.core.sampling.test_statistics import SAMPLES, SIZE, p_value
from tests.core.tiny import F64

PROMPT = [1, 7, 2, 7, 4, 1, 7]          # repeats itself, so that lookups find something
SETTINGS = {"T=1": Sampling(1.0), "T=0.8": Sampling(0.8), "top-k": Sampling(1.0, top_k=4), "top-p": Sampling(1.0, top_p=0.9),
            "min-p": Sampling(1.2, min_p=0.1), "penalty": Sampling(1.0, repetition_penalty=1.3)}


def other(to: DecoderTarget):
    return tiny.decoder(7, num_layers=1, vocab_size=SIZE)


def medusa(to: DecoderTarget, tree: str) -> Medusa:
    blocks, outputs = heads.medusa_blocks(1, 2, 1, SIZE)
    return Medusa(MedusaHeads(MedusaTensors(blocks, outputs), to.model), tree)


def eagle(to: DecoderTarget, tree: str, nodes: int = 7) -> Eagle:
    """An EAGLE-3 head whose reduced vocabulary has five of the eight tokens."""
    known = torch.tensor([0, 1, 3, 5, 6])
    tensors = heads.eagle3_tensors(at="", reduced=False) | {"lm_head.weight": heads.noise(3)(len(known), heads.H, scale=0.6)}
    head = EagleTensors(3, tiny.config(vocab_size=SIZE, num_layers=1), tensors, (0, 1, 2), known)
    return Eagle(EagleHead(head, to.model), tree, nodes, 2)


METHODS: dict[str, Callable[[DecoderTarget], Proposer]] = {
    "draft": lambda to: DraftModel(other(to)), "draft 2x2": lambda to: DraftTree(other(to), None, (2, 2)),
    "lookup": lambda to: PromptLookup(), "suffix": Suffix, "lookup+draft": lambda to: Combined(PromptLookup(3, 2), DraftModel(other(to))),
    "early-exit": lambda to: EarlyExit(to, "2"), "early-exit skip": lambda to: EarlyExit(to, skip_layers="1"),
    "medusa": lambda to: medusa(to, "chain"), "medusa auto": lambda to: medusa(to, "auto"), "medusa 3x2": lambda to: medusa(to, "3x2"),
    "eagle": lambda to: eagle(to, "chain"), "eagle auto": lambda to: eagle(to, "auto"), "eagle static": lambda to: eagle(to, "static")}
BLOCK = ["draft", "lookup+draft", "early-exit", "early-exit skip", "eagle"]
CASES = [(name, "chain") for name in METHODS] + [(name, "block") for name in BLOCK]
FAMILIES = [("draft", "chain"), ("draft", "block"), ("draft 2x2", "chain"), ("lookup", "chain"), ("medusa auto", "chain")]

Verifier = Callable[..., verify.VerifyResult]


def target() -> DecoderTarget:
    model = tiny.decoder(num_layers=3, vocab_size=SIZE)
    model.head.weight.data *= 0.4       # flatter distributions, so that more pairs occur
    return DecoderTarget(model)


@pytest.fixture(scope="module")
def to() -> DecoderTarget:
    return target()


class Tabulated:
    """The proposer after one context, as tables of its distributions; `round` drafts from them and verifies."""

    def __init__(self, to: DecoderTarget, proposer: Proposer, tokens: list[int], sampling: Sampling, k: int) -> None:
        self.to, self.proposer, self.tokens, self.sampling, self.k = to, proposer, tokens, sampling, k
        self.p = tiny.dist_after(to.model, tokens, sampling)
        self.p_next = torch.stack([tiny.dist_after(to.model, [*tokens, x], sampling) for x in range(SIZE)])
        self.first = self.draft([])
        self.q: dict[tuple, Tensor] = {}        # (node, tokens of the nodes that its q depends on) -> its q
        if self.first is not None and self.first.q is None:
            assert torch.equal(self.first.tokens, self.draft([0.99] * 9).tokens)
        elif self.first is not None and self.first.parents is None:
            self.tabulate_chain()
        elif self.first is not None:
            self.tabulate_tree()

    def draft(self, u: list[float]) -> Draft | None:
        """A draft of the real proposer with these uniforms (then 0.3, 0.4, ...), checked to be what its q and the uniforms give."""
        ctx = proofs.context(self.to, self.tokens, self.sampling)
        given = torch.tensor([*u, *(0.3 + 0.1 * i for i in range(7))], dtype=F64)
        left = iter(given)
        ctx.uniforms = lambda n: torch.stack([next(left) for _ in range(n)])
        self.proposer.begin(ctx)
        with torch.inference_mode():
            _, ctx.hidden_states = self.proposer.target_pass(self.to)(ctx.cache, torch.tensor(self.tokens[:-1]), 1)
            self.proposer.observe(ctx, [])
            out = self.proposer.propose(ctx, self.k)
        self.proposer.end()
        if out is not None and out.q is not None:
            # in a tree, the first siblings of a level are drawn before the second ones
            order = [0, 1, 2, 4, 3, 5] if out.parents is not None else [0, 1]
            assert torch.equal(out.tokens, probs.draw(out.q, given[order[:len(out)]]))
        return out

    def tabulate_chain(self) -> None:
        self.q[0,] = self.first.q[0]
        for x, u in forcing(self.first.q[0]):
            if self.k > 1:
                self.q[1, x] = self.draft([u]).q[1]

    def tabulate_tree(self) -> None:
        """2x2: two siblings, then two children of each."""
        self.q[0,] = self.first.q[0]
        options = forcing(self.first.q[0])
        for i, (a, u) in enumerate(options):
            self.q[1, a] = self.draft([u]).q[1]
            if self.k == 1:
                continue
            after = dict(forcing(self.q[1, a]))
            start = [u, after.get(options[(i + 1) % len(options)][0], 0.5)]
            draft = self.draft(start)
            b = int(draft.tokens[1])
            self.q[2, a], self.q[4, b] = draft.q[2], draft.q[4]
            below = forcing(draft.q[2]), forcing(draft.q[4])
            for j in range(SIZE):
                (c, u_c), (e, u_e) = (x[j % len(x)] for x in below)
                draft = self.draft([*start, u_c, u_e])
                self.q[3, a, c], self.q[5, b, e] = draft.q[3], draft.q[5]

    def dist(self, node: int, *given: Tensor) -> Tensor:
        """[n, SIZE]: the tabulated q of a node for n samples; given [n] each: the tokens it depends on."""
        table = torch.full((SIZE,) * (len(given) + 1), torch.nan, dtype=F64)
        for key, row in self.q.items():
            if key[0] == node:
                table[key[1:]] = row
        rows = table[given] if given else table.expand(self.n, SIZE)
        assert not rows.isnan().any()
        return rows

    def round(self, n: int, rng: torch.Generator, verifier: Verifier) -> tuple[Tensor, Tensor]:
        """n samples of the first two tokens of one round; the second is -1 where the round emitted only one."""
        self.n = n

        def u(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=rng, dtype=F64)

        def drawn(node: int, *given: Tensor) -> Tensor:
            dists.append(self.dist(node, *given))
            return probs.draw(dists[-1], u(n))

        dists: list[Tensor] = []
        if self.first is None:
            return probs.draw(self.p.expand(n, SIZE), u(n)), torch.full((n,), -1)
        size, parents = len(self.first), self.first.parents
        if self.first.q is None:
            x = self.first.tokens.expand(n, size)
            dists = list(verify.one_hot(x, SIZE, F64).unbind(1))
        elif parents is None:
            x = drawn(0)
            x = torch.stack([x, drawn(1, x)] if size > 1 else [x], 1)
        else:
            a = drawn(0)
            b = drawn(1, a)
            nodes = [a, b]
            for at, above in ((2, a), (4, b)) if self.k > 1 else ():
                c = drawn(at, above)
                nodes += [c, drawn(at + 1, above, c)]
            x = torch.stack(nodes, 1)
        p, q = torch.cat([self.p.expand(n, 1, SIZE), self.p_next[x]], 1), torch.stack(dists, 1)      # rows after two tokens are not used
        if parents is None:
            v = verifier(p, q, x, u(n, size), u(n))
            level = torch.arange(size)
        else:
            tree = Tree.of(parents, self.first.levels)
            q = None if self.first.q is None else q
            v = torch.vmap(lambda *a: tuple(vars(verifier(a[0], a[1] if q is not None else None, a[2], tree, *a[3:])).values()),
                           in_dims=(0, None if q is None else 0, 0, 0, 0))(p, q, x, u(n, size), u(n))
            v = verify.VerifyResult(*v)
            level = tree.depth - 1
        first, second = (torch.where(v.accepted & (level == d), x, -1).amax(1) for d in (0, 1))         # accepted tokens, -1 = none
        return torch.where(first >= 0, first, v.next_id), torch.where(second >= 0, second, torch.where(first >= 0, v.next_id, -1))


def forcing(dist: Tensor) -> list[tuple[int, float]]:
    """(token, a uniform that draws it) for every token of positive probability."""
    middle = dist.cumsum(-1) - dist / 2
    return [(x, float(middle[x])) for x in range(SIZE) if dist[x] > 0]


def sample(to: DecoderTarget, name: str, sampling: Sampling, verifier: Verifier, seed: int = 5) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """[SAMPLES, 2] tokens (where a round emitted one, a second round adds the other) and the target's distributions of the first and second."""
    rng, proposer = torch.Generator().manual_seed(seed), METHODS[name](to)
    here = Tabulated(to, proposer, PROMPT, sampling, 2)
    first, second = here.round(SAMPLES, rng, verifier)
    for x in first.unique().tolist():
        short = ((first == x) & (second < 0)).nonzero()[:, 0]
        if len(short):
            second[short] = Tabulated(to, proposer, [*PROMPT, x], sampling, 1).round(len(short), rng, verifier)[0]
    return torch.stack([first, second], 1), (here.p, here.p_next)


def verifier_of(name: str, how: str) -> Verifier:
    return verify.block if how == "block" else verify.tree if METHODS[name](target()).side_nodes else verify.chain


@pytest.mark.parametrize("sampling", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize(("name", "how"), CASES)
def test_two_token_continuations_follow_the_target(to, name, how, sampling):
    assert p_value(*sample(to, name, sampling, verifier_of(name, how))) > 0.001


@pytest.mark.parametrize("wrong", ["next token drawn from p", "q misreported"])
@pytest.mark.parametrize(("name", "how"), FAMILIES)
def test_faulty_verification_is_rejected(to, name, how, wrong):
    right = verifier_of(name, how)

    def careless(p: Tensor, *rest) -> verify.VerifyResult:
        v = right(p, *rest)
        v.next_id = probs.draw(verify._row(p, v.at), rest[-1])
        return v

    def misled(p: Tensor, q: Tensor | None, x: Tensor, *rest) -> verify.VerifyResult:
        q = (x[..., None] == torch.arange(SIZE)).double() if q is None else q
        return right(p, q / 2 + 0.5 / SIZE, x, *rest)

    assert p_value(*sample(to, name, SETTINGS["T=1"], careless if wrong.startswith("next") else misled)) < 1e-6
