"""The decoder equals transformers' own model of each family on tiny random weights: prefill, single steps, blocks, rollback, batches, trees."""
from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

from core.checkpoints import weights
from core.models import flash, kernels, rope
from core.models.config import DecoderConfig
from core.models.decoder import PassShape
from core.models.target import PREFILL, DecoderTarget
from tests.core import tiny

SIZES = {"vocab_size": 50, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 128, "tie_word_embeddings": False}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
MODELS = {
    "llama": LlamaConfig(**SIZES), "llama, all heads": LlamaConfig(**SIZES | {"num_key_value_heads": 4}),
    "llama, one kv head": LlamaConfig(**SIZES | {"num_key_value_heads": 1}), "llama, biases": LlamaConfig(**SIZES, attention_bias=True,
        mlp_bias=True),
    "llama 3 rope": LlamaConfig(**SIZES, rope_parameters={**LLAMA3, "rope_theta": 500000.0}),
    "llama, linear rope": LlamaConfig(**SIZES, rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}),
    "llama, head_dim": LlamaConfig(**SIZES, head_dim=32), "smollm2": LlamaConfig(**SIZES | {"tie_word_embeddings": True}, rms_norm_eps=1e-5),
    "mistral": MistralConfig(**SIZES, sliding_window=None), "mistral, window": MistralConfig(**SIZES, sliding_window=8),
    "qwen2": Qwen2Config(**SIZES), "qwen2, window": Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=8, max_window_layers=0),
    "qwen3": Qwen3Config(**SIZES, head_dim=24), "qwen3, biases, tied": Qwen3Config(**SIZES | {"tie_word_embeddings": True}, head_dim=16,
                                                                                   attention_bias=True),
}
TOKENS = torch.randint(50, (1, 40), generator=torch.Generator().manual_seed(3))


def pair_of(hf_config):
    """transformers' model with random weights (norms and biases too), and our decoder built from its state dict."""
    torch.manual_seed(0)
    theirs = AutoModelForCausalLM.from_config(hf_config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    state = dict(theirs.state_dict())
    ours = weights.build(DecoderConfig.from_hf(hf_config.to_dict()), state, "tiny", torch.float32, "cpu")
    return theirs, ours


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def both(request):
    theirs, ours = pair_of(request.param)
    with torch.inference_mode():
        return theirs(TOKENS).logits[0], ours


def close(got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=1e-5)


@torch.inference_mode()
def test_without_a_cache(both):
    want, ours = both
    assert want.std() > 0.3
    close(ours(TOKENS)[0], want)


@pytest.mark.parametrize("cuts", [[40], [1] * 40, [12, 5, 1, 5, 5, 12], [30, 1, 1, 8], [8, 8, 8, 8, 8], [7, 33]], ids=str)
@torch.inference_mode()
def test_prefill_steps_and_blocks(both, cuts):
    want, ours = both
    cache, got, at = ours.new_cache(40), [], 0
    for n in cuts:
        got.append(ours(TOKENS[:, at:at + n], cache)[0])
        at += n
    close(torch.cat(got), want)
    assert cache.length == cache.capacity == 40


@pytest.mark.filterwarnings("ignore")       # the warning that a CPU has no such kernel
@torch.inference_mode()
def test_a_causal_mask_left_to_the_kernel(both, monkeypatch):
    """As on CUDA, where flash attention then runs."""
    want, ours = both
    sizes = []
    monkeypatch.setattr(flash, "SUPPORTED", {("cpu", 4)})
    monkeypatch.setattr(flash.CausalLowerRight, "of", lambda *size, real=flash.CausalLowerRight.of: sizes.append(size) or real(*size))
    cache, got = ours.new_cache(40), []
    for start, end in ((0, 12), (12, 13), (13, 18), (18, 40)):
        got.append(ours(TOKENS[:, start:end], cache)[0])
    close(torch.cat(got), want)
    assert sizes == ([] if ours.config.sliding_window else [(5, 18), (22, 40)])


@pytest.mark.parametrize("accepted", [0, 1, 3, 5])
@torch.inference_mode()
def test_after_a_rollback(both, accepted):
    want, ours = both
    cache = ours.new_cache(40)
    ours(TOKENS[:, :20], cache)
    wrong = torch.cat([TOKENS[:, 20:20 + accepted], (TOKENS[:, 20 + accepted:25] + 1) % 50], 1)
    ours(wrong, cache)
    cache.truncate(20 + accepted)
    close(ours(TOKENS[:, 20 + accepted:30], cache)[0], want[20 + accepted:30])
    close(ours(TOKENS[:, 30:31], cache)[0], want[30:31])


@torch.inference_mode()
def test_a_batch_of_rows(both):
    _, ours = both
    rows = torch.cat([TOKENS, TOKENS.flip(1)])
    cache = ours.new_cache(40, rows=2)
    got = torch.cat([ours(rows[:, :33], cache), ours(rows[:, 33:37], cache), ours(rows[:, 37:], cache)], 1)
    for i in range(2):
        close(got[i], ours(rows[i:i + 1])[0])


PARENTS = [-1, 0, 0, 1, 1, 2, 5, 3]        # parent of each node of one pass; node 0 is the last emitted token


def shape_of(parents):
    """(PassShape, path to each node) of a tree whose node 0 is the root."""
    paths = [[0]]
    for i, parent in enumerate(parents[1:], 1):
        paths.append([*paths[parent], i])
    allowed = torch.zeros(len(parents), len(parents), dtype=torch.bool)
    for i, path in enumerate(paths):
        allowed[i, path] = True
    return PassShape(torch.tensor([len(p) - 1 for p in paths]), allowed), paths


@pytest.mark.parametrize("start", [0, 3, 20])
@torch.inference_mode()
def test_a_tree_is_all_its_paths_at_once(both, start):
    _, ours = both
    shape, paths = shape_of(PARENTS)
    nodes = TOKENS[0, 20:20 + len(PARENTS)]
    cache = ours.new_cache(40)
    if start:
        ours(TOKENS[:, :start], cache)
    got = ours(nodes[None], cache, shape)[0]
    for i, path in enumerate(paths):
        close(got[i], ours(torch.cat([TOKENS[0, :start], nodes[path]])[None])[0, -1])


@torch.inference_mode()
def test_the_accepted_path_of_a_tree_becomes_a_chain(both):
    """Accepted path [0, 3, 7] of an 8-node tree: the gathered entries overlap those that they replace."""
    _, ours = both
    shape, paths = shape_of([-1, 0, 0, 0, 1, 2, 3, 3])
    nodes, cache = TOKENS[0, 20:28], ours.new_cache(40)
    ours(TOKENS[:, :10], cache)
    ours(nodes[None], cache, shape)
    path = paths[7]
    assert path == [0, 3, 7]
    cache.gather(10, torch.tensor(path))
    tokens = torch.cat([TOKENS[0, :10], nodes[path], TOKENS[0, 30:32]])
    close(ours(tokens[None, 13:], cache)[0], ours(tokens[None])[0, 13:])


@torch.inference_mode()
def test_layers_in_two_parts_and_aux_layers(both):
    _, ours = both
    cache = ours.new_cache(40)
    ours(TOKENS[:, :10], cache)
    early, hidden_states = ours.run(TOKENS[:, 10:14], cache, layers=[0], aux_layers=[0, 1], advance=False)
    assert cache.length == 10 and set(hidden_states) == {0}
    late, more = ours.run(TOKENS[:, 10:14], cache, hidden=early, layers=[1, 2], aux_layers=[1, 2, 3])
    whole, want = ours.run(TOKENS[:, :14], aux_layers=[0, 1, 2, 3])
    close(late, whole[:, 10:])
    assert cache.length == 14 and list(more) == [1, 2, 3]
    for layer, x in {**hidden_states, **more}.items():
        close(x, want[layer][:, 10:])
    close(want[3], whole)


@torch.inference_mode()
def test_float64_is_closer_to_itself_than_float32():
    """float64 must not lose digits to a rotary table or mask in float32."""
    model = tiny.decoder(max_positions=512)
    tokens = torch.randint(20, (1, 300), generator=torch.Generator().manual_seed(0))
    cache = model.new_cache(300)
    got = torch.cat([model(tokens[:, :290], cache), model(tokens[:, 290:], cache)], 1)
    torch.testing.assert_close(got, model(tokens), rtol=0, atol=1e-11)


@torch.inference_mode()
def test_the_kept_causal_mask_serves_every_position_and_length():
    model = tiny.decoder(max_positions=3000)
    tokens = torch.randint(20, (1, 2600), generator=torch.Generator().manual_seed(0))
    want, cache = model(tokens)[0], model.new_cache(2600)
    for start, end in ((0, 3), (3, 43), (43, 45), (45, 1100), (1100, 1105), (1105, 2590), (2590, 2600)):
        torch.testing.assert_close(model(tokens[:, start:end], cache)[0], want[start:end], rtol=0, atol=1e-10)


@torch.inference_mode()
def test_rope_tables_grow_beyond_their_first_size(monkeypatch):
    made = []
    real = rope.tables
    monkeypatch.setattr(rope, "tables", lambda c, length, *rest: made.append(length) or real(c, length, *rest))
    model = tiny.decoder(max_positions=9000, num_layers=1)
    cache = model.new_cache(4200)
    for n in (10, 4080, *[1] * 30):
        model(torch.ones(1, n, dtype=torch.long), cache)
    assert len(made) == 2, "a longer context must not make new tables at every step"


@pytest.mark.parametrize("length", [1, PREFILL - 1, PREFILL, PREFILL + 1, PREFILL + 5, 2 * PREFILL, 2 * PREFILL + 3])
@pytest.mark.parametrize("last", [1, 5, 9])
@torch.inference_mode()
def test_a_target_feeds_long_prompts_in_parts(length, last):
    model = tiny.decoder(num_layers=1, max_positions=2000)
    to, tokens = DecoderTarget(model, 17), torch.randint(17, (length,), generator=torch.Generator().manual_seed(0))
    last = min(last, length)
    cache = to.new_cache(length)
    logits, hidden_states = to.verify(tokens, cache, last, aux_layers=(0, 1))
    whole, want = model.run(tokens[None], aux_layers=(0, 1))
    assert cache.length == length and logits.shape == (last, 17)
    torch.testing.assert_close(logits, model.logits(whole)[0, -last:, :17], rtol=0, atol=1e-10)
    for layer in (0, 1):
        torch.testing.assert_close(hidden_states[layer], want[layer][0], rtol=0, atol=1e-10)


@torch.inference_mode()
@pytest.mark.parametrize("name", [n for n in ("bfloat16", "w16a32", "w8a16") if kernels.available(n)])
@pytest.mark.parametrize("tied", [False, True])
def test_packing_for_the_cpu_changes_only_the_rounding(name, tied):
    dtype = torch.bfloat16 if name == "bfloat16" else torch.float32
    sizes = {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 32, "tied_head": tied}
    model, packed = tiny.decoder(dtype=dtype, **sizes), tiny.decoder(dtype=dtype, **sizes)
    packed.pack(name)
    assert packed.head.weight is (packed.embed if tied else None) and packed.layers[0].qkv.weight is None
    far = (packed(TOKENS % 20).float() - model(TOKENS % 20).float()).abs()
    assert far.mean() < 0.5 and far.amax(-1).median() < 1
