"""Medusa heads: logits equal those of a plain forward; trees, padding, the number of heads, and unchanged output."""
from __future__ import annotations

import itertools

import pytest
import torch

from core.checkpoints.formats import medusa as medusa_format
from core.checkpoints.formats import sniff
from core.errors import UserError
from core.methods.medusa import Medusa, MedusaHeads
from core.methods.static_tree import TYPICAL_ACCURACY, StaticTree
from core.models.decoder import Decoder
from core.models.target import DecoderTarget
from core.sampling import verify
from core.sampling.probs import Sampling
from core.sampling.tree import Tree
from tests.core import heads, tiny
from tests.core.heads import F64, H, V
from tests.core.sampling.test_statistics import p_value
from tests.core.tiny import PROMPT, decode, emitted

TREES = ["auto", "chain", "3x2x1", "2"]


def heads_of(folder, target: Decoder) -> MedusaHeads:
    return MedusaHeads(medusa_format.read(folder, sniff(folder), target.config), target)


def hidden(seed: int = 2) -> torch.Tensor:
    return heads.noise(seed)(H, scale=1)


def agree(made: MedusaHeads, target: Decoder, blocks: list, outputs: list, limit: float = 1e-9) -> None:
    x = hidden()
    normed = heads.rms(x, target.final_norm.double(), target.config.rms_norm_eps)
    want = heads.medusa_reference(normed, blocks, outputs)
    got = made(x.to(target.dtype))
    assert got.shape == want.shape and (got.double() - want).abs().max() < limit
    many = made(torch.stack([x, 2 * x]).to(target.dtype))
    assert (many[0].double() - want).abs().max() < limit


@pytest.mark.parametrize("dtype", [F64, torch.float32])
@pytest.mark.parametrize("file", ["medusa_lm_head.safetensors", "medusa_lm_head.pt"])
@pytest.mark.parametrize(("count", "layers"), [(3, 1), (5, 1), (2, 3)])
def test_v01(tmp_path, file, count, layers, dtype):
    """The config says 2 heads, but the tensors' names decide."""
    target = heads.target(dtype)
    heads.medusa(tmp_path, file, count, layers)
    assert sniff(tmp_path) == "medusa"
    made = heads_of(tmp_path, target)
    assert made.count == count
    agree(made, target, *heads.medusa_blocks(1, count, layers), 1e-9 if dtype == F64 else 3e-5)


def test_legacy_heads_end_in_the_targets_own_matrix(tmp_path):
    target = heads.target()
    heads.medusa(tmp_path, legacy=True)
    agree(heads_of(tmp_path, target), target, heads.medusa_blocks(1, 3, 1)[0], [target.head.weight.detach()] * 3, 1e-6)


def test_medusa_1(tmp_path):
    heads.medusa1(tmp_path)
    assert sniff(tmp_path) == "medusa-1.0"
    target = medusa_format.base(tmp_path, F64, "cpu")
    agree(heads_of(tmp_path, target), target, *heads.medusa_blocks(1, 3, 1))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reduced", [True, False])
def test_vllm_layout(tmp_path, shared, bias, reduced):
    target = heads.target()
    heads.medusa_vllm(tmp_path, shared=shared, bias=bias, reduced=reduced)
    assert sniff(tmp_path) == "medusa-vllm"
    made = heads_of(tmp_path, target)
    blocks, outputs = heads.medusa_blocks(1, 3, 1, heads.DRAFT if reduced else V)
    agree(made, target, [[(w, b if bias else None) for w, b in layers] for layers in blocks], outputs[:1] if shared else outputs)
    assert (made.token_map is not None) == reduced


def test_training_and_inference_are_one_forward(tmp_path):
    train = pytest.importorskip("core.train.medusa")
    from core.train.batches import Batch
    target = heads.target(torch.float32)
    objective = train.MedusaObjective(target, torch.tensor(heads.PICKED), heads=3)
    with torch.no_grad():
        for p in objective.parameters():
            p.copy_((p + 0.2 * heads.noise(6)(*p.shape).float()).to(torch.bfloat16))
        objective.save(tmp_path)
        made = heads_of(tmp_path, target)
        x = heads.noise(2)(1, 4, 1, H, scale=1).float()
        outputs = objective.outputs(Batch(torch.zeros(1, 4, dtype=torch.long), None, x, None, None, None))
        for h, out in enumerate(outputs):
            assert (out[0] @ objective.lm_head.T - made(x[0, :, 0])[:, h]).abs().max() < 1e-4


def test_every_draft_comes_from_the_hidden_state_of_the_last_verified_token(tmp_path):
    """Head h guesses token i + 2 + h, also after a rejection."""
    target = heads.target()
    heads.medusa_vllm(tmp_path)
    made = heads_of(tmp_path, target)
    log = []

    class Watched(Medusa):
        def propose(self, ctx, k):
            draft = super().propose(ctx, k)
            log.append((list(ctx.tokens), draft))
            return draft

    decode(DecoderTarget(target, None, ()), Watched(made, "3x2"), max_new_tokens=12)
    tree = StaticTree.full((3, 2))
    for tokens, draft in log:
        _, hidden_states = target.run(torch.tensor([tokens[:-1]]), aux_layers=[heads.L])
        normed = heads.rms(hidden_states[heads.L][0, -1], target.final_norm, target.config.rms_norm_eps)
        ranked = heads.medusa_reference(normed, *heads.medusa_blocks(1, 3, 1, heads.DRAFT)).argsort(-1, descending=True)
        cut = tree.cut(draft.levels)
        assert draft.tokens.tolist() == [heads.PICKED[ranked[d - 1, r]] for d, r in zip(cut.depths, cut.ranks)]
        assert draft.parents.tolist() == list(cut.parents) and draft.q is None


@pytest.fixture(scope="module")
def constant() -> Decoder:
    """A target whose likeliest next token is always 0."""
    model = heads.target()
    with torch.no_grad():
        for layer in model.layers:
            layer.o.weight.zero_(), layer.down.weight.zero_()
        model.final_norm.fill_(1.0)
        model.embed[:, 0] = 20.0
        model.head.weight[0] = 0
        model.head.weight[0, 0] = 40.0
    return model


@pytest.mark.parametrize("tree", TREES)
def test_token_0_is_a_token(tmp_path, constant, tree):
    """A tree padded with id 0 would accept tokens past its leaves. Untrained heads (W = 0) are perfect for this target."""
    tensors = {f"{h}.0.linear.{kind}": torch.zeros(*shape) for h in range(3) for kind, shape in (("weight", (H, H)), ("bias", (H,)))}
    heads.write(tmp_path, {}, tensors, "medusa_lm_head.safetensors")
    run, rounds = decode(DecoderTarget(constant, None, ()), Medusa(heads_of(tmp_path, constant), tree), max_new_tokens=20, draft_len=3)
    assert run.new_tokens == [0] * 20
    levels = Medusa(heads_of(tmp_path, constant), tree).levels or 3
    assert all(sum(d.verdict == "accepted" for d in r.drafted) == levels for r in rounds[1:-1])


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(repetition_penalty=1.3)], ids=["greedy", "penalty"])
def test_greedy_output_is_plain_output(tmp_path, tree, sampling):
    target = heads.target()
    heads.medusa(tmp_path, heads=4)
    to = DecoderTarget(target, None, ())
    run, rounds = decode(to, Medusa(heads_of(tmp_path, target), tree), max_new_tokens=24, sampling=sampling)
    plain, _ = decode(to, tiny.Proposer(), max_new_tokens=24, sampling=sampling)
    assert run.new_tokens == plain.new_tokens == emitted(rounds)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("tree", ["auto", "chain"])
@pytest.mark.parametrize("budget", [0, 1, 2, 3, 4, 5])
def test_budgets_and_full_contexts(tmp_path, tree, budget):
    target = heads.target(max_positions=len(PROMPT) + 4)
    heads.medusa(tmp_path)
    run, _ = decode(DecoderTarget(target, None, ()), Medusa(heads_of(tmp_path, target), tree), max_new_tokens=budget)
    assert run.new_tokens == tiny.greedy(target, PROMPT, min(budget, 4))


def test_typical_acceptance_runs_on_these_trees(tmp_path):
    target = heads.target()
    heads.medusa(tmp_path)
    for tree in TREES:
        run, _ = decode(DecoderTarget(target, None, ()), Medusa(heads_of(tmp_path, target), tree), sampling=Sampling(1.0), verify="typical",
                        typical_epsilon=0.001, typical_delta=0.001)
        assert len(run.new_tokens) == 16


@pytest.mark.usefixtures("runner")
def test_runs_of_the_real_loop_follow_the_target(tmp_path):
    from tests.core.sampling.test_statistics import PROMPT as START
    from tests.core.sampling.test_statistics import dists
    target = tiny.decoder(0, vocab_size=8)
    make = heads.noise(1)
    heads.write(tmp_path, {}, {f"{h}.{name}": t for h in range(2) for name, t in (("0.linear.weight", make(H, H)), ("0.linear.bias", make(H)),
                                                                                ("1.weight", make(8, H)))}, "medusa_lm_head.safetensors")
    sampling, to, made = Sampling(1.1, top_p=0.95), DecoderTarget(target, None, ()), heads_of(tmp_path, target)
    tokens = [decode(to, Medusa(made, "2x2"), START, sampling=sampling, seed=seed, max_new_tokens=3, record=False)[0].new_tokens
              for seed in range(300)]
    assert p_value(torch.tensor([t[:2] for t in tokens]), dists(target, sampling)) > 0.001


@pytest.mark.parametrize("children", [[2, 0], [3, 1], [0, 1, 2, 3], [1]])
def test_one_hot_siblings_keep_the_distribution_exactly(children):
    """By enumeration of every pattern of accepted and rejected siblings."""
    p0 = torch.tensor([.5, .3, .15, .05], dtype=F64)
    p = torch.stack([p0] + [p0.flip(0)] * len(children))
    drafted, shape = torch.tensor(children), Tree.of(torch.full((len(children),), -1), 1)
    assert (dist_of_first(p, drafted, shape) - p0).abs().max() < 1e-12


@pytest.mark.parametrize("tree", [StaticTree.full((2, 2)), StaticTree.best([TYPICAL_ACCURACY] * 3, 6), StaticTree.full((3, 1))],
                         ids=["2x2", "best", "3x1"])
def test_two_tokens_of_a_tree_keep_the_distribution_exactly(tree):
    rng = torch.Generator().manual_seed(3)
    size = 4
    ids = torch.stack([torch.randperm(size, generator=rng) for _ in range(4)])
    drafted = torch.stack([ids[d - 1, r] for d, r in zip(tree.depths, tree.ranks) if r < size])
    first, second = torch.rand(size, generator=rng, dtype=F64).softmax(0), torch.rand(size, size, generator=rng, dtype=F64).softmax(-1)
    rows = [first]
    for i in range(tree.nodes):         # the distribution after a node depends on its own token alone
        rows.append(second[drafted[i]])
    p, shape = torch.stack(rows), Tree.of(torch.tensor(tree.parents), tree.levels)
    joint = torch.zeros(size, size, dtype=F64)
    for chance, v in outcomes(p, drafted, shape):
        path = [int(drafted[i]) for i in range(tree.nodes) if v.accepted[i]]
        if not path:
            joint += chance * v.residual[:, None] * second
        elif len(path) == 1:
            joint[path[0]] += chance * v.residual
        else:
            joint[path[0], path[1]] += chance
    assert (joint - first[:, None] * second).abs().max() < 1e-12


def outcomes(p, drafted, shape):
    """(probability, VerifyResult) of every way in which the uniforms can be below or above the acceptance probabilities."""
    n = len(drafted)
    acceptance_prob = verify.tree(p, None, drafted, shape, torch.zeros(n, dtype=F64), torch.tensor(0.5, dtype=F64)).acceptance_prob.clamp(0, 1)
    for sides in itertools.product([True, False], repeat=n):
        chance = torch.stack([x if below else 1 - x for x, below in zip(acceptance_prob, sides)]).prod()
        if chance > 0:
            u = torch.tensor([0.0 if below else 1 - 1e-16 for below in sides], dtype=F64).clamp_max(1 - 2 ** -53)
            yield chance, verify.tree(p, None, drafted, shape, u, torch.tensor(0.5, dtype=F64))


def dist_of_first(p, drafted, shape):
    """The distribution of the first emitted token, [V]."""
    dist = torch.zeros(p.shape[1], dtype=F64)
    for chance, v in outcomes(p, drafted, shape):
        accepted = [int(t) for t, a in zip(drafted, v.accepted) if a]
        dist += chance * (torch.nn.functional.one_hot(torch.tensor(accepted[0]), p.shape[1]) if accepted else v.residual)
    return dist


def test_the_best_tree_has_the_most_expected_tokens():
    accuracy = [[.6, .2, .1], [.5, .2, .1], [.4, .1, .05]]
    tree = StaticTree.best(accuracy, 6)

    paths = [p for n in (1, 2, 3) for p in itertools.product(range(3), repeat=n)]
    value = {(): 1.0}
    for p in paths:
        value[p] = value[p[:-1]] * accuracy[len(p) - 1][p[-1]]
    mine: dict[int, tuple] = {-1: ()}
    for i, (parent, rank) in enumerate(zip(tree.parents, tree.ranks)):
        mine[i] = (*mine[parent], rank)
    assert len(set(mine.values())) == 7 == tree.nodes + 1
    assert sum(value[p] for p in mine.values()) == pytest.approx(1 + sum(sorted((value[p] for p in paths), reverse=True)[:6]))
    assert StaticTree.best([[0.9]], 5).nodes == 1                   # no more nodes than paths


def test_measured_accuracy_makes_the_tree(tmp_path):
    target = heads.target()
    heads.medusa(tmp_path)
    (tmp_path / "config.json").write_text('{"head_accuracy": [[0.9, 0.01], [0.9, 0.01], [0.9, 0.01]]}')
    assert Medusa(heads_of(tmp_path, target), "auto", 3).tree.parents == (-1, 0, 1)
    (tmp_path / "config.json").write_text('{"head_accuracy": [[0.5, 0.4, 0.1], [0.1], [0.1]]}')
    assert Medusa(heads_of(tmp_path, target), "auto", 3).tree.parents == (-1, -1, -1)


def test_what_is_no_tree_is_refused(tmp_path):
    target = heads.target()
    heads.medusa(tmp_path)
    made = heads_of(tmp_path, target)
    for tree in ("1x1x1x1", "0x2", "bushy", ""):
        with pytest.raises(UserError):
            Medusa(made, tree)


def test_tuning_measures_candidates(tmp_path):
    from core.checkpoints import load
    from core.models.text import NoText
    from core.runs import tune

    class Words(NoText):
        def chat(self, prompt, system):
            return PROMPT

    target = heads.target()
    heads.medusa(tmp_path, heads=4)
    pair = load.Pair("tiny", "tiny", DecoderTarget(target, None, ()), Words(), {}, {"medusa": tmp_path})
    result = tune.tune(pair, "medusa", ["a"], 6)
    assert len(result["rows"]) == len(tune.candidates("medusa", 3)) and "vs plain" in tune.table(result)
