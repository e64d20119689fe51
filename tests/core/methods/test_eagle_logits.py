"""EAGLE heads: draft logits equal those of a plain forward. A wrong head would still be lossless, only slow."""
from __future__ import annotations

import pytest
import torch

from core.checkpoints.formats import eagle as eagle_format
from core.checkpoints.formats import sniff
from core.methods.eagle import Eagle
from core.methods.eagle_head import EagleHead
from core.models.decoder import Decoder
from core.models.target import DecoderTarget
from core.sampling.probs import Sampling
from tests.core import check, heads, tiny
from tests.core.heads import F64, EagleReference, L, V
from tests.core.tiny import PROMPT, decode

FLAGS = {"plain": {}, **{name: {name: True} for name in ("norm_before_residual", "fc_norm", "norm_before_fc", "norm_output")},
         "all": {"norm_before_residual": True, "fc_norm": True, "norm_output": True}}


class Watched(Eagle):
    """Logs (tokens so far, draft) of every round."""

    def begin(self, ctx) -> None:
        super().begin(ctx)
        self.log = []

    def propose(self, ctx, k):
        draft = super().propose(ctx, k)
        if draft is not None:
            self.log.append((list(ctx.tokens), draft))
        return draft


def head_of(folder, target: Decoder) -> EagleHead:
    return EagleHead(eagle_format.read(folder, sniff(folder), target.config), target)


def branches(draft) -> list[list[int]]:
    """The ids on the path to each node, its own last."""
    out: list[list[int]] = []
    parents = list(range(-1, len(draft) - 1)) if draft.parents is None else draft.parents.tolist()
    for token, parent in zip(draft.tokens.tolist(), parents):
        out.append([*(out[parent] if parent >= 0 else []), token])
    return out


def agree(reference: EagleReference, log: list, limit: float = 1e-7) -> None:
    """The chain's logits are those of a forward without cache over the true tokens and hidden states."""
    assert len(log) > 2
    for tokens, draft in log:
        for i, path in enumerate(branches(draft)):
            want = reference.logits(tokens, path[:-1])
            known = want.isfinite()
            assert torch.equal(draft.logits[i].isfinite(), known)
            assert (draft.logits[i][known].double() - want[known]).abs().max() < limit


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_eagle3_logits_are_those_of_a_plain_forward(tmp_path, flags):
    target = heads.target()
    folder = heads.eagle3(tmp_path, flags=flags)
    proposer = Watched(head_of(folder, target))
    for sampling in (Sampling(), Sampling(2.0, top_p=0.95, repetition_penalty=1.3)):
        run, rounds = decode(DecoderTarget(target, None, ()), proposer, sampling=sampling, max_new_tokens=14, draft_len=3)
        agree(EagleReference(folder, target, flags=flags), proposer.log)
        check.run(run, rounds, len(PROMPT))


def test_float32_is_within_1e_5(tmp_path):
    target = heads.target(torch.float32)
    folder = heads.eagle3(tmp_path)
    proposer = Watched(head_of(folder, target))
    decode(DecoderTarget(target, None, ()), proposer, draft_len=3)
    agree(EagleReference(folder, target), proposer.log, 1e-4)
    scale = max(d.logits[d.logits.isfinite()].abs().max() for _, d in proposer.log)
    agree(EagleReference(folder, target), proposer.log, 1e-5 * max(1.0, float(scale)))


@pytest.mark.parametrize("case", ["narrow head", "whole vocabulary", "vLLM names", "other layers", "one-token prompt"])
def test_eagle3_variants(tmp_path, case):
    target, prompt, aux_layers = heads.target(), PROMPT, (2, 4, 5)
    folder = tmp_path / "head"
    if case == "narrow head":           # 3 * H_target != H: finds code that tells the parts apart by their width
        heads.eagle3(folder, h=24, embed=True)
    elif case == "whole vocabulary":
        heads.eagle3(folder, reduced=False)
    elif case == "vLLM names":
        heads.eagle3(folder, at="layers.0.")
    elif case == "other layers":
        aux_layers = (1, 6, 8)
        heads.eagle3(folder, config={"eagle_config": {"eagle_aux_hidden_state_layer_ids": list(aux_layers)}})
    else:
        heads.eagle3(folder)
        prompt = [9]
    proposer = Watched(head_of(folder, target))
    decode(DecoderTarget(target, None, ()), proposer, prompt, draft_len=3)
    agree(EagleReference(folder, target, aux_layers=aux_layers), proposer.log)


def test_speculators_logits(tmp_path):
    target = heads.target()
    for name, flags in FLAGS.items():
        flags = {"norm_before_residual": False} | flags
        folder = heads.speculators(tmp_path / name, flags=flags)
        proposer = Watched(head_of(folder, target))
        decode(DecoderTarget(target, None, ()), proposer, max_new_tokens=8, draft_len=2)
        agree(EagleReference(folder, target, flags=flags), proposer.log)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("embed", [True, False])
def test_eagle1_logits_are_those_of_a_plain_forward(tmp_path, bias, embed):
    target = heads.target()
    folder = heads.eagle1(tmp_path, bias=bias, embed=embed)
    proposer = Watched(head_of(folder, target))
    decode(DecoderTarget(target, None, ()), proposer, draft_len=3)
    agree(EagleReference(folder, target, "pytorch_model.bin"), proposer.log)


def test_aux_hidden_states_are_those_of_transformers(tmp_path):
    """For L = 8 layers the default aux layers are 2, L/2 and L - 3: the inputs of these layers, hidden_states[2], [4] and [5]."""
    from transformers import LlamaForCausalLM
    folder = tiny.checkpoint(tmp_path / "target", vocab_size=V, num_layers=L)
    theirs = LlamaForCausalLM.from_pretrained(folder, dtype=F64)
    from core.checkpoints import weights
    ours = weights.load_decoder(folder, F64, "cpu")
    head = head_of(heads.eagle3(tmp_path / "head"), ours)
    assert head.aux_layers == (2, 4, 5)
    ids = torch.tensor([PROMPT])
    with torch.no_grad():
        hidden = theirs(ids, output_hidden_states=True).hidden_states
        _, hidden_states = ours.run(ids, aux_layers=head.aux_layers)
    for layer in head.aux_layers:
        assert (hidden_states[layer] - hidden[layer]).abs().max() < 1e-4      # theirs has cos and sin in float32; a neighbouring layer differs by 1
        assert (hidden_states[layer] - hidden[layer - 1]).abs().max() > 1


def test_training_and_inference_are_one_forward(tmp_path):
    """The training rollout of s steps over a text computes what the proposer's head computes when it drafts s tokens after each position."""
    train = pytest.importorskip("core.train.eagle")
    from core.train.batches import Batch
    from core.train.start import narrow_config
    target = heads.target(torch.float32)
    rng = torch.Generator().manual_seed(4)
    aux_layers = [2, 4, 6]
    trained = train.EagleModule(narrow_config(target.config, 1, INNER := 16), 3, heads.DRAFT)
    assert trained.config.intermediate_size == INNER
    with torch.no_grad():
        for p in trained.parameters():
            p.copy_((torch.randn(p.shape, generator=rng) * 0.2 + (p.ndim == 1)).to(torch.bfloat16))
    objective = train.EagleObjective(trained, torch.tensor(heads.PICKED), target, aux_layers, [*aux_layers, L])
    objective.save(tmp_path)
    head = head_of(tmp_path, target)
    assert head.aux_layers == tuple(aux_layers) and head.token_map.tolist() == heads.PICKED
    ids = torch.randint(0, V, (1, 11), generator=rng)
    with torch.no_grad():
        _, by_layer = target.run(ids, aux_layers=[*aux_layers, L])
        hidden_states = torch.stack([by_layer[t] for t in [*aux_layers, L]], 2)
        empty = torch.zeros(1, 11, 1)
        steps = objective.steps(Batch(ids, torch.ones(1, 11, dtype=torch.bool), hidden_states, empty.long(), empty, ids), 3)
        for start in range(1, 8):           # a round whose last emitted token is token start + 1
            cache = head.new_cache(16)
            out = head.read(ids[0, 1:start + 2], head.fuse({t: by_layer[t][0, :start + 1] for t in aux_layers}), cache)[-1:]
            for s in range(3):
                if s:
                    out = head.read(ids[0, start + 1 + s].view(1), head.feedback(out), cache)
                assert (head.norm(out)[0] - steps[s][0, start + s]).abs().max() < 1e-4
