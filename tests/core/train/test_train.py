"""Training on a tiny random target: losses fall, resuming gives the same result, saved folders have the published formats."""
from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from core.checkpoints import draft_format, formats, tensor_files
from core.errors import UserError
from core.methods import eagle_head
from core.models import rope
from core.models.config import DecoderConfig
from core.models.decoder import Decoder
from core.train import cache, generate, held_out, loop
from core.train.batches import Texts
from core.train.data import Text
from core.train.draft import DraftObjective
from core.train.eagle import EagleModule, EagleObjective
from core.train.loss import head_loss
from core.train.medusa import MedusaObjective
from core.train.score import Score, rounds
from core.train.start import draft_from_target
from core.train.start_eagle import eagle_from_target
from tests.core import tiny

KINDS = ("draft", "eagle", "medusa")
IDS = torch.tensor([0, 1, 2, 3, 5, 6, 8, 9, 11, 13, 14, 17, 18, 19])
AUX_LAYERS = (1, 3, 6)
COUNT = 400         # texts


@pytest.fixture(scope="module")
def target() -> Decoder:
    """Seven layers, so that the three aux layers differ."""
    model = tiny.decoder(seed=4, dtype=tiny.F32, num_layers=7)
    for p in model.parameters():
        p.requires_grad_(False)
    return model


@pytest.fixture(scope="module")
def texts(target: Decoder, tmp_path_factory: pytest.TempPathFactory) -> Texts:
    rng = torch.Generator().manual_seed(0)
    prompts = torch.randint(0, 20, (COUNT, 3), generator=rng)
    written = generate.write(target, prompts, torch.full((COUNT,), 0.7), [], 20, rng)
    made = [Text(tuple(p.tolist()), tuple(w)) for p, w in zip(prompts, written)]
    features = cache.FeatureCache(tmp_path_factory.mktemp("cache"), made, AUX_LAYERS, IDS, target)
    features.fill(target)
    return Texts([features], [[i < 8 for i in range(COUNT)]], IDS, "cpu")


def objective(kind: str, target: Decoder, texts: Texts) -> torch.nn.Module:
    if kind == "draft":
        return DraftObjective(draft_from_target(target, [0, 1], 24, IDS, torch.arange(20)[None]), IDS, target)
    if kind == "eagle":
        head = eagle_from_target(target, [0, 1, 2], 24, IDS, [texts.batch(texts.training[:100])])
        return EagleObjective(head, IDS, target, list(AUX_LAYERS), [*AUX_LAYERS, 7])
    return MedusaObjective(target, IDS, 3)


def run(kind: str, target: Decoder, texts: Texts, folder: Path, tokens: int = 1500, **more) -> dict:
    held = held_out.prepare(texts, target, IDS, 100, 4)
    options = loop.Options(tokens=tokens, batch=4, matrix_lr=0.02, rest_lr=3e-3, measure_every=400)
    return loop.train(objective(kind, target, texts), texts, held, options, folder, autocast=None, show=False, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_training_helps_on_held_out_text(kind: str, target: Decoder, texts: Texts, tmp_path: Path) -> None:
    curve = run(kind, target, texts, tmp_path, tokens=6000)["curve"]
    assert curve[-1]["loss"] < curve[1]["loss"]
    assert curve[-1]["overlap_by_position"][0] > curve[0]["overlap_by_position"][0]
    assert json.loads((tmp_path / "training.json").read_text())["curve"] == curve


@pytest.mark.parametrize("kind", ["draft", "eagle"])
def test_a_fitted_head_is_a_better_start(kind: str, target: Decoder, texts: Texts) -> None:
    made, held = objective(kind, target, texts), held_out.prepare(texts, target, IDS, 100, 4)
    before = loop.measure(made, held, None)["overlap_by_position"][0]
    made.calibrate([texts.batch(texts.training[:100])], target)
    assert loop.measure(made, held, None)["overlap_by_position"][0] > before


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT as Python handles it by itself: a shell that starts this suite in the background may have it ignored, and we inherit that."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_equals_an_uninterrupted_one(kind: str, target: Decoder, texts: Texts, tmp_path: Path) -> None:
    """Ctrl-C ends the run after the step, and the resumed run gives the same numbers bit for bit."""
    whole = run(kind, target, texts, tmp_path / "whole")
    steps = []
    original = Texts.batch

    def batch(self: Texts, which: list) -> object:
        steps.append(which)
        if len(steps) == 9 + 2:         # 2 held-out batches come first
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, which)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Texts, "batch", batch)
        part = run(kind, target, texts, tmp_path / "part")
    assert part["interrupted"] and 0 < part["steps"] < whole["steps"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    rest = run(kind, target, texts, tmp_path / "part", resume=True)
    assert rest["curve"] == whole["curve"] and not rest["interrupted"]
    ours, theirs = tensor_files.read_folder(tmp_path / "part"), tensor_files.read_folder(tmp_path / "whole")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


def test_what_cannot_be_resumed_is_refused(target: Decoder, texts: Texts, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no .*checkpoint\.pt to resume"):
        run("draft", target, texts, tmp_path, resume=True)
    run("medusa", target, texts, tmp_path, tokens=100)
    assert torch.equal(loop.saved_token_ids(tmp_path), IDS)
    with pytest.raises(UserError, match="another shape"):
        run("draft", target, texts, tmp_path, resume=True)


def test_order_depends_only_on_seed_and_epoch(texts: Texts) -> None:
    flat = [i for b in texts.order(0, 4, seed=3) for i in b]
    assert sorted(flat) == sorted(texts.training) and set(flat).isdisjoint(texts.held_out)
    assert texts.order(0, 4, seed=3) == texts.order(0, 4, seed=3) != texts.order(1, 4, seed=3)


def test_a_smaller_vocabulary_than_the_caches(texts: Texts) -> None:
    fewer = IDS[::2].clone()
    less, full = Texts(texts.caches, [[False] * COUNT], fewer, "cpu").batch([(0, 0)]), texts.batch([(0, 0)])
    ids_full, ids_less = IDS[full.rows], fewer[less.rows]
    known = torch.isin(ids_full, fewer) & (full.probs > 0)
    assert torch.equal(less.probs > 0, known)
    assert torch.equal(ids_less[known], ids_full[known]) and torch.equal(less.probs[known], full.probs[known])


@pytest.mark.parametrize("kl, tv", [(1.0, 0.0), (0.0, 1.0), (0.7, 0.4)])
def test_loss_and_gradient_equal_autograds(kl: float, tv: float) -> None:
    rng = torch.Generator().manual_seed(1)
    hidden, weight = torch.randn(7, 5, generator=rng, requires_grad=True), torch.randn(11, 5, generator=rng, requires_grad=True)
    rows = torch.stack([torch.randperm(11, generator=rng)[:4] for _ in range(7)])
    p = torch.rand(7, 4, generator=rng) / 4
    p[:, 3] = 0         # an id that the draft does not have
    mine = head_loss(hidden, weight, rows, p, kl=kl, tv=tv)
    grads = torch.autograd.grad(mine, (hidden, weight))
    logq = (hidden @ weight.T).log_softmax(-1).gather(1, rows)
    want = (kl * -(p * logq).sum(-1) + tv * (p.sum(-1) - torch.minimum(p, logq.exp()).sum(-1))).mean()
    torch.testing.assert_close(mine, want)
    for a, b in zip(grads, torch.autograd.grad(want, (hidden, weight))):
        torch.testing.assert_close(a, b)


def test_score_counts_rounds() -> None:
    score = Score(2)
    score.add(rounds(torch.tensor([1.0, 0, 1, 1]), 2), rounds(torch.tensor([0.5, 0.5, 1, 0]), 2))
    got = score.result()
    assert got["positions"] == 3
    assert got["agree_by_position"] == [0.6667, 0.6667] and got["agree_accepted"] == [0.6667, 0.5]
    assert got["agree_tokens_per_round"] == 2.0 and got["overlap_tokens_per_round"] == round(1 + (0.5 + 0.5 + 1 + 0.25 + 0.5 + 0) / 3, 4)


# --- the saved folders -------------------------------------------------------------------------------------------------------------

def test_a_saved_draft_is_the_trained_one(target: Decoder, texts: Texts, tmp_path: Path) -> None:
    made = objective("draft", target, texts)
    for p in made.parameters():
        p.data = p.data.bfloat16().float()
    made.save(tmp_path)
    draft, ids = draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")
    batch = texts.batch(texts.held_out[:2])
    with torch.no_grad():
        torch.testing.assert_close(draft(batch.ids), made.decoder.head(made.hidden(batch)))
    assert torch.equal(ids, IDS)


def test_a_saved_eagle_head_has_the_published_names_and_shapes(target: Decoder, texts: Texts, tmp_path: Path) -> None:
    objective("eagle", target, texts).save(tmp_path)
    got = {n: (tuple(t.shape), t.dtype) for n, t in tensor_files.read_folder(tmp_path).items()}
    h, n = 32, len(IDS)
    shapes = {"fc.weight": (h, 3 * h), "norm.weight": (h,), "lm_head.weight": (n, h), "midlayer.hidden_norm.weight": (h,),
              "midlayer.input_layernorm.weight": (h,), "midlayer.post_attention_layernorm.weight": (h,),
              "midlayer.mlp.gate_proj.weight": (24, h), "midlayer.mlp.up_proj.weight": (24, h), "midlayer.mlp.down_proj.weight": (h, 24),
              "midlayer.self_attn.o_proj.weight": (h, h)}
    shapes |= {f"midlayer.self_attn.{x}_proj.weight": (h, 2 * h) for x in "qkv"}
    assert got == {k: (v, torch.bfloat16) for k, v in shapes.items()} | {"d2t": ((n,), torch.int64), "t2d": ((20,), torch.bool)}
    maps = tensor_files.read_folder(tmp_path)
    assert torch.equal(torch.arange(n) + maps["d2t"], IDS) and torch.equal(maps["t2d"].nonzero()[:, 0], IDS)     # offsets, not ids
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["draft_vocab_size"] == n and config["vocab_size"] == 20 and config["num_hidden_layers"] == 1
    assert config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == list(AUX_LAYERS)


@pytest.mark.parametrize("before", [True, False])
def test_drafting_computes_what_was_trained(before: bool, target: Decoder, texts: Texts, tmp_path: Path) -> None:
    """A saved head gives the same logits in training and in drafting: norms, token order, aux layers, positions."""
    made = objective("eagle", target, texts)
    made.head.norm_before_residual = before
    for p in [*made.parameters(), *made.head.buffers()]:
        p.data = p.data.bfloat16().float()
    made.head.tap_scale.fill_(0.5)
    made.save(tmp_path)
    loaded = eagle_head.EagleHead(formats.eagle.read(tmp_path, "eagle3", target.config), target)
    batch = texts.batch(texts.held_out[:1])
    n = int(batch.counts.sum()) + int(batch.counts[0].int().argmax())
    with torch.no_grad():
        want = F.linear(made.steps(batch, 1)[0], made.head.lm_head)[0, :n - 1]
        g = loaded.fuse({layer: batch.hidden_states[0, :n - 1, i].float() for i, layer in enumerate(AUX_LAYERS)})
        got = loaded.logits(loaded.read(batch.ids[0, 1:n], g, loaded.new_cache(64)))
    torch.testing.assert_close(got, want, atol=1e-3, rtol=1e-3)


def test_saved_medusa_heads_have_vllms_names_and_shapes(target: Decoder, texts: Texts, tmp_path: Path) -> None:
    objective("medusa", target, texts).save(tmp_path)
    got = {n: tuple(t.shape) for n, t in tensor_files.read_folder(tmp_path).items()}
    want = {"lm_heads.0.weight": (len(IDS), 32), "token_map": (len(IDS),)}
    want |= {f"blocks.{i}.layers.0.weight": (32, 32) for i in range(3)} | {f"blocks.{i}.layers.0.bias": (32,) for i in range(3)}
    assert got == want
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == "medusa" and config["num_heads"] == 3 and config["truncated_vocab_size"] == len(IDS)
    assert config["original_lm_head"] is True and config["medusa_fc_bias"] is True and config["num_hidden_layers"] == 1


def test_training_writes_how_often_each_guess_of_a_head_is_right(target: Decoder, texts: Texts, tmp_path: Path) -> None:
    made, held = objective("medusa", target, texts), held_out.prepare(texts, target, IDS, 100, 4)
    with torch.no_grad():
        for w in made.weights:
            w.normal_(std=0.3, generator=torch.Generator().manual_seed(1))
    agree = loop.measure(made, held, None)["agree_by_position"]
    made.save(tmp_path)
    table = json.loads((tmp_path / "config.json").read_text())["head_accuracy"]
    assert len(table) == 3 and [row[0] for row in table] == agree and all(0 < sum(row) <= 1 for row in table)
    hits = positions = 0
    for batch in held.batches:                          # counted again: the second head's third guess
        x = made.outputs(batch)[1]
        for b in range(len(batch.ids)):
            at = batch.counts[b].nonzero()[:, 0].tolist()[:-3]
            positions += len(at)
            hits += sum(int(IDS[F.linear(x[b, t], made.lm_head).topk(3).indices[2]] == batch.best[b, t + 2]) for t in at)
    assert table[1][2] == pytest.approx(hits / positions, abs=1e-4)


# --- EAGLE's training-time test ----------------------------------------------------------------------------------------------------

def test_rollout_is_what_drafting_one_token_at_a_time_gives() -> None:
    """Every step of a round from every start, against a sequential head without batching."""
    rng = torch.Generator().manual_seed(0)
    c = DecoderConfig(vocab_size=20, hidden_size=32, intermediate_size=48, num_layers=1, num_heads=4, num_kv_heads=2, head_dim=8)
    head = EagleModule(c, 3, 10)
    for p in head.parameters():
        torch.nn.init.normal_(p, std=0.3, generator=rng)
    head.tap_scale.uniform_(0.5, 2, generator=rng)
    embed, L = torch.randn(20, 32, generator=rng), 9
    model = tiny.decoder(dtype=tiny.F32)
    model.embed.data = embed
    made = EagleObjective(head, torch.arange(10), model, [2, 4, 5], [2, 4, 5, 7])

    class TwoTexts:
        ids = torch.randint(0, 20, (2, L), generator=rng)
        hidden_states = torch.randn(2, L, 4, 32, generator=rng)

    with torch.no_grad():
        got = made.steps(TwoTexts(), 4)
        for b in range(2):
            for t in range(L - 1):
                for s, want in enumerate(sequential(head, embed, TwoTexts.ids[b], TwoTexts.hidden_states[b, :, :3], t, min(4, L - 1 - t))):
                    torch.testing.assert_close(got[s][b, t + s], want, atol=1e-4, rtol=1e-4)


def sequential(head: EagleModule, embed: Tensor, ids: Tensor, hidden_states: Tensor, t: int, steps: int) -> list[Tensor]:
    """The outputs of `steps` steps from position t, one after the other."""
    c = head.config
    cos, sin = (x.unsqueeze(1) for x in rope.tables(c, len(ids), torch.float32, "cpu"))
    gs = list(F.linear(hidden_states[:t + 1].flatten(1), head.fc * head.tap_scale))
    out = []
    for s in range(steps):
        n = t + s + 1
        g = torch.stack(gs)[None]
        q, k, v = head.qkv(F.embedding(ids[1:n + 1], embed)[None], g, cos[:n], sin[:n])
        last = head.finish(g, F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))[0, -1]
        out.append(head.rms(last, head.norm))
        gs.append(last)
    return out
