"""EAGLE heads in a run: trees, unchanged output, and a head cache without traces of rejected drafts."""
from __future__ import annotations

import pytest
import torch

from core.errors import UserError
from core.methods.eagle import Eagle
from core.methods.eagle_head import EagleHead
from core.methods.static_tree import TYPICAL_ACCURACY, StaticTree
from core.models.decoder import Decoder
from core.models.target import DecoderTarget
from core.sampling.probs import Sampling
from tests.core import heads, tiny
from tests.core.heads import F64, EagleReference, H, V
from tests.core.methods.test_eagle_logits import Watched, agree, branches, head_of
from tests.core.sampling.test_statistics import p_value
from tests.core.tiny import PROMPT, decode, emitted


def noisy_perfect(folder, target: Decoder, noise: float) -> EagleHead:
    """An EAGLE-1 head that copies the embedding. It is perfect for a target without attention and MLP, whose next token depends on the last
    one alone; noise on its fc makes it err."""
    heads.eagle1(folder, bias=False)
    head = head_of(folder, target)
    layer = head.layers[0]
    with torch.no_grad():
        layer.o.weight.zero_(), layer.down.weight.zero_()
        layer.fc.weight.copy_(torch.cat([torch.eye(H), torch.zeros(H, H)], 1) + noise * heads.noise(3)(H, 2 * H))
    return head


@pytest.fixture(scope="module")
def markov() -> Decoder:
    """A target without attention and MLP: its next token depends on the last one alone."""
    model = heads.target()
    with torch.no_grad():
        for layer in model.layers:
            layer.o.weight.zero_(), layer.down.weight.zero_()
        model.final_norm.fill_(1.0)
    return model


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("tree", ["chain", "auto"])
def test_rejections_leave_nothing_behind(tmp_path, markov, tree):
    """After rounds that accept none, some and all, the head's rows are made from the target's hidden states, not from its own guesses."""
    head = noisy_perfect(tmp_path, markov, 0.25)
    proposer = Watched(head, tree)
    _, rounds = decode(DecoderTarget(markov, None, ()), proposer, max_new_tokens=40, draft_len=3)
    accepted = {sum(d.verdict == "accepted" for d in r.drafted) for r in rounds if r.drafted}
    assert len(accepted) > 2
    if tree == "chain":
        agree(_reference_of(head, markov), proposer.log)
    else:       # the same tokens as a head without a history drafts
        for tokens, draft in proposer.log[3:]:
            assert branches(draft) == branches(_draft_anew(head, markov, tokens, draft.levels, tree))


def _reference_of(head: EagleHead, target: Decoder) -> EagleReference:
    """A reference with the weights of an EAGLE-1 head that was changed after loading."""
    out = object.__new__(EagleReference)
    layer, names = head.layers[0], ("q", "k", "v")
    out.t = {f"self_attn.{n}_proj.weight": w for n, w in zip(names, layer.qkv.weight.detach().split([H, 16, 16]))}
    gate, up = layer.gate_up.weight.detach().chunk(2)
    out.t |= {"self_attn.o_proj.weight": layer.o.weight.detach(), "mlp.gate_proj.weight": gate, "mlp.up_proj.weight": up,
              "mlp.down_proj.weight": layer.down.weight.detach(), "fc.weight": layer.fc.weight.detach(),
              "post_attention_layernorm.weight": layer.post_norm.detach()}
    out.target, out.flags, out.first, out.embed = target, {}, True, target.embed.detach()
    return out


def _draft_anew(head: EagleHead, target: Decoder, tokens: list[int], levels: int, tree: str):
    """The draft of a proposer that reads all tokens at once, without earlier rounds."""
    from core.methods.base import Context
    to = DecoderTarget(target, None, ())
    proposer = Eagle(head, tree)
    cache = to.new_cache(80)
    ctx = Context(tokens, Sampling(), torch.Generator(), V, 80, torch.device("cpu"), F64, to, cache)
    with torch.inference_mode():
        ctx.hidden_states = to.verify(torch.tensor(tokens[:-1]), cache, 1, None, proposer.aux_layers)[1]
        proposer.begin(ctx)
        proposer.observe(ctx, [])
        return proposer.propose(ctx, levels)


def expected_dynamic(reference: EagleReference, tokens: list[int], levels: int, top_k: int, nodes: int) -> list[tuple[int, ...]]:
    """EAGLE-2's tree, computed path by path: the paths of its nodes."""
    value = {(): 0.0}
    front: list[tuple[int, ...]] = [()]
    order: list[tuple[int, ...]] = []
    for level in range(levels):
        new = []
        for path in front:
            logp = reference.logits(tokens, list(path)).log_softmax(-1)
            for token in logp.topk(top_k).indices.tolist():
                value[(*path, token)] = value[path] + float(logp[token])
                new.append((*path, token))
        order += new
        front = sorted(new, key=lambda p: -value[p])[:top_k]
        assert level or len(new) == top_k
    best = set(sorted(order, key=lambda p: -value[p])[:nodes])
    assert all(p[:-1] in best or len(p) == 1 for p in best)
    return [p for p in order if p in best]


def test_the_dynamic_tree_is_eagle2s(tmp_path):
    target = heads.target()
    folder = heads.eagle3(tmp_path)
    proposer = Watched(head_of(folder, target), "auto", tree_tokens=9, tree_depth=4, tree_top_k=3)
    decode(DecoderTarget(target, None, ()), proposer, max_new_tokens=8)
    reference = EagleReference(folder, target)
    for tokens, draft in proposer.log:
        got = [tuple(b) for b in branches(draft)]
        assert len(got) == min(9, len(got)) and draft.q is None
        # a level's nodes are in another order here, so compare them as a set, and the order of siblings
        want = expected_dynamic(reference, tokens, draft.levels, 3, 9)
        assert set(got) == set(want)
        for parent in {p[:-1] for p in want}:
            assert [p for p in got if p[:-1] == parent] == [p for p in want if p[:-1] == parent]


@pytest.mark.parametrize("tree", ["3x2x1", "static", "2"])
def test_static_trees(tmp_path, tree):
    target = heads.target()
    folder = heads.eagle1(tmp_path)
    proposer = Watched(head_of(folder, target), tree, tree_tokens=10)
    shape = StaticTree.full([int(x) for x in tree.split("x")]) if tree != "static" else StaticTree.best([TYPICAL_ACCURACY] * 4, 10)
    decode(DecoderTarget(target, None, ()), proposer, max_new_tokens=8)
    reference = EagleReference(folder, target, "pytorch_model.bin")
    for tokens, draft in proposer.log:
        cut = shape.cut(draft.levels)
        assert draft.parents.tolist() == list(cut.parents)
        for path, rank in zip(branches(draft), cut.ranks):
            assert path[-1] == int(reference.logits(tokens, path[:-1]).topk(rank + 1).indices[rank])


TREES = ["chain", "auto", "static", "3x2x1", "1x3", "4"]


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(("kind", "sampling"), [("random", Sampling()), ("near", Sampling(repetition_penalty=1.3))], ids=["greedy", "penalty"])
@pytest.mark.parametrize("tree", TREES)
def test_greedy_output_is_plain_output(tmp_path, markov, kind, tree, sampling):
    target = markov if kind == "near" else heads.target()
    head = noisy_perfect(tmp_path, markov, 0.2) if kind == "near" else head_of(heads.eagle3(tmp_path), target)
    to = DecoderTarget(target, None, ())
    run, rounds = decode(to, Eagle(head, tree), max_new_tokens=24, sampling=sampling)
    plain, _ = decode(to, tiny.Proposer(), max_new_tokens=24, sampling=sampling)
    assert run.new_tokens == plain.new_tokens
    assert emitted(rounds) == run.new_tokens


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("tree", [t for t in TREES if t != "auto"])      # in a dynamic tree likelier siblings may take the place of the accepted path
def test_a_perfect_head_is_accepted_whole_in_every_round(tmp_path, markov, tree):
    head = noisy_perfect(tmp_path, markov, 0.0)
    _, rounds = decode(DecoderTarget(markov, None, ()), Eagle(head, tree), max_new_tokens=26, draft_len=4)
    for r in rounds[1:]:
        depth = [0] * len(r.drafted)
        for i, d in enumerate(r.drafted):
            depth[i] = 1 if d.parent < 0 else depth[d.parent] + 1
        assert sum(d.verdict == "accepted" for d in r.drafted) == max(depth, default=0)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("tree", ["chain", "auto"])
@pytest.mark.parametrize("budget", [0, 1, 2, 3, 5, 6])
def test_budgets_and_full_contexts(tmp_path, tree, budget):
    target = heads.target(max_positions=len(PROMPT) + 5)
    head = head_of(heads.eagle3(tmp_path), target)
    run, _ = decode(DecoderTarget(target, None, ()), Eagle(head, tree), max_new_tokens=budget)
    assert run.new_tokens == tiny.greedy(target, PROMPT, min(budget, 5))


@pytest.mark.usefixtures("runner")
def test_a_head_of_short_context_stops_drafting(tmp_path):
    target = heads.target()
    head = head_of(heads.eagle3(tmp_path, config={"max_position_embeddings": 12}), target)
    run, rounds = decode(DecoderTarget(target, None, ()), Eagle(head), max_new_tokens=20)
    assert run.new_tokens == tiny.greedy(target, PROMPT, 20)
    assert any(r.drafted for r in rounds) and not rounds[-1].drafted


@pytest.mark.usefixtures("runner")
def test_rounds_without_a_draft_lose_no_hidden_states(tmp_path):
    """Combined with a lookup, the head observes rounds that it did not draft."""
    class Seldom(Watched):
        def propose(self, ctx, k):
            return super().propose(ctx, k) if len(ctx.tokens) % 3 == 0 else None

    target = heads.target()
    folder = heads.eagle3(tmp_path)
    proposer = Seldom(head_of(folder, target))
    decode(DecoderTarget(target, None, ()), proposer, max_new_tokens=24, draft_len=2)
    agree(EagleReference(folder, target), proposer.log)


@pytest.mark.parametrize("length", ["auto", "heuristic", 1])
def test_draft_lengths_are_chosen_by_the_loop(tmp_path, markov, length):
    to = DecoderTarget(markov, None, ())
    run, rounds = decode(to, Eagle(noisy_perfect(tmp_path, markov, 0.05)), max_new_tokens=30, draft_len=length)
    assert run.new_tokens == tiny.greedy(markov, PROMPT, 30)
    assert len({len(r.drafted) for r in rounds[1:-1]}) > 1 or length != "heuristic"


@pytest.mark.parametrize("settings", [{}, {"tree": "auto"}, {"tree": "3x2"}], ids=str)
def test_costs_can_be_measured(tmp_path, settings):
    from core.measuring import costs
    target = heads.target()
    to = DecoderTarget(target, None, ())
    proposer = Eagle(head_of(heads.eagle3(tmp_path), target), **settings)
    assert costs.draft_seconds(to, proposer, 2) > 0
    run, _ = decode(to, proposer, max_new_tokens=6)
    assert run.new_tokens == tiny.greedy(target, PROMPT, 6)


def test_what_is_no_tree_is_refused(tmp_path):
    head = head_of(heads.eagle3(tmp_path), heads.target())
    for tree in ("bushy", "0x2", "", "41", "9x9x9"):
        with pytest.raises(UserError):
            Eagle(head, tree)


@pytest.mark.usefixtures("runner")
def test_lookup_before_eagle(tmp_path):
    from core.methods.combined import Combined
    from core.methods.prompt_lookup import PromptLookup
    target, prompt = heads.target(), [3, 1, 4, 1, 5, 9, 3, 1, 4, 1, 5, 9, 3, 1, 4]
    folder = heads.eagle3(tmp_path)
    head = Watched(head_of(folder, target))
    run, _ = decode(DecoderTarget(target, None, ()), Combined(PromptLookup(3, 2, "recent"), head), prompt, max_new_tokens=20, draft_len=3)
    assert run.new_tokens == tiny.greedy(target, prompt, 20)
    agree(EagleReference(folder, target), head.log)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("tree", [pytest.param("chain", marks=pytest.mark.long), "2x2"])
def test_runs_of_the_real_loop_follow_the_target(tmp_path, tree):
    """Two-token continuations of 300 seeds through the whole decode loop."""
    from tests.core.sampling.test_statistics import PROMPT as START
    from tests.core.sampling.test_statistics import dists
    target = tiny.decoder(0, vocab_size=8, num_layers=8)
    layer = heads.LAYER | {"vocab_size": 8, "draft_vocab_size": 8}
    tensors = heads.eagle3_tensors(reduced=False)
    tensors["lm_head.weight"] = tensors["lm_head.weight"][:8]
    head = head_of(heads.write(tmp_path, layer, tensors), target)
    sampling = Sampling(1.1, top_p=0.95)
    to = DecoderTarget(target, None, ())
    tokens = [decode(to, Eagle(head, tree), START, sampling=sampling, seed=seed, max_new_tokens=3, draft_len=2, record=False)[0].new_tokens
              for seed in range(300)]
    assert p_value(torch.tensor([t[:2] for t in tokens]), dists(target, sampling)) > 0.001
