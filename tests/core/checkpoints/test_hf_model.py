"""Targets and drafts behind transformers: exact rollback past sliding windows, the loop's identities, strict loading, refusals by name."""
from __future__ import annotations

import json

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from core.checkpoints import load
from core.checkpoints.hf_limits import longest
from core.checkpoints.hf_model import HFModel, HFTarget
from core.cli import main
from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.methods.base import Proposer
from core.methods.combined import Combined
from core.methods.draft_model import DraftModel
from core.methods.prompt_lookup import PromptLookup
from core.methods.registry import METHODS
from core.methods.suffix import Suffix
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import decode, emitted

SIZES = {"vocab_size": 20, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 64}
GROUPED = SIZES | {"num_key_value_heads": 2, "head_dim": 8}
NO_IDS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None, "tie_word_embeddings": False}
WINDOW = 8                                                  # shorter than the prompts
CONFIGS = {
    "gpt2": lambda: hf.GPT2Config(vocab_size=20, n_embd=32, n_layer=2, n_head=4, n_positions=64, **NO_IDS),
    "opt": lambda: hf.OPTConfig(vocab_size=20, hidden_size=32, num_hidden_layers=2, ffn_dim=48, num_attention_heads=4, max_position_embeddings=64,
                                word_embed_proj_dim=32, **NO_IDS),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**SIZES, **NO_IDS),
    "gemma2": lambda: hf.Gemma2Config(**GROUPED, sliding_window=WINDOW, **NO_IDS),
    "gemma3": lambda: hf.Gemma3TextConfig(**GROUPED, sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"], **NO_IDS),
    "phi3": lambda: hf.Phi3Config(**SIZES, num_key_value_heads=2, sliding_window=WINDOW, **NO_IDS)}
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
STATEFUL = {
    "mamba": lambda: hf.MambaConfig(vocab_size=20, hidden_size=32, num_hidden_layers=2, state_size=4),
    "jamba": lambda: hf.JambaConfig(**SIZES, num_key_value_heads=2, attn_layer_period=2, attn_layer_offset=1, num_experts=2),
    "bamba": lambda: hf.BambaConfig(**SIZES, num_key_value_heads=2, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8, mamba_d_state=4),
    "recurrent_gemma": lambda: hf.RecurrentGemmaConfig(vocab_size=20, hidden_size=32, num_hidden_layers=3, intermediate_size=96,
                                                       num_attention_heads=4),
    "rwkv": lambda: hf.RwkvConfig(vocab_size=20, hidden_size=32, num_hidden_layers=2, context_length=64, attention_hidden_size=32),
    "lfm2": lambda: hf.Lfm2Config(**SIZES, num_key_value_heads=2, layer_types=["conv", "full_attention"])}


def build(name: str, dtype: torch.dtype = torch.float64, seed: int = 0):
    """A random model whose distributions are neither flat nor one-hot."""
    torch.manual_seed(seed)
    model = hf.AutoModelForCausalLM.from_config(CONFIGS[name]()).to(dtype)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(0, 1.0 if p.shape[0] == 20 else 0.4)
    return model.eval()


def target(name: str, dtype: torch.dtype = torch.float64, eos: tuple[int, ...] = ()) -> HFTarget:
    return HFTarget(HFModel(build(name, dtype), name), None, eos)


def plain(model, tokens: list[int], n: int) -> list[int]:
    """transformers without any cache: the reference."""
    out = list(tokens)
    with torch.inference_mode():
        for _ in range(n):
            out.append(int(model(torch.tensor([out]), use_cache=False).logits[0, -1].argmax()))
    return out[len(tokens):]


PROPOSERS = {"plain": lambda to: Proposer(), "perfect": lambda to: DraftModel(to.model), "lookup": lambda to: PromptLookup(), "suffix": Suffix,
                "combined": lambda to: Combined(PromptLookup(3, 2), DraftModel(to.model)),
                "our decoder": lambda to: DraftModel(tiny.decoder(7, to.dtype))}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", CONFIGS)
def test_greedy_output_is_that_of_transformers_without_a_cache(name, dtype):
    to = target(name, dtype)
    want = plain(to.model.model, PROMPT, 20)
    assert len(set(want)) > 1
    for make in PROPOSERS.values():
        run, rounds = decode(to, make(to), PROMPT, max_new_tokens=20)
        check.run(run, rounds, len(PROMPT))
        assert emitted(rounds) == want


@pytest.mark.parametrize("name", CONFIGS)
def test_after_each_round_the_cache_agrees_with_a_fresh_forward_past_the_window_too(name):
    """Sliding windows of 8, a prompt of 12, drafts that are rejected."""
    to, counts = target(name), set()
    draft = DraftModel(HFModel(build(name, seed=0), name))
    draft.model.model.get_output_embeddings().weight.data.add_(torch.randn(20, 32, generator=torch.Generator().manual_seed(1)).double() * 0.02)
    for seed in range(3):
        run = Decoding(to, draft, PROMPT, Options(24, 3, Sampling(1.0), seed))
        for r in run:
            if r.drafted:
                counts.add(sum(d.verdict == "accepted" for d in r.drafted))
            if run.stop is not None:
                continue
            assert run.ctx.cache.length == len(run.tokens) - 1
            with torch.inference_mode():
                want = to.model.model(torch.tensor([run.tokens]), use_cache=False).logits[0, -1]
                got = to.verify(torch.tensor(run.tokens[-1:]), run.ctx.cache, 1)[0][0]
                run.ctx.cache.truncate(len(run.tokens) - 1)
            torch.testing.assert_close(got, want, rtol=0, atol=1e-5 if "gemma" in name else 1e-9)      # Gemma norms in float32
    assert len(counts) > 1


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_perfect_draft_is_accepted_in_every_round(name, sampling):
    to = target(name)
    _, rounds = decode(to, DraftModel(HFModel(build(name), name)), PROMPT, sampling=sampling, max_new_tokens=22)
    assert all(d.verdict == "accepted" for r in rounds for d in r.drafted) and len(rounds) == 1 + -(-21 // 5)


@pytest.mark.parametrize("name", ["gpt2", "gemma3"])
def test_stopping_and_state(name):
    to = target(name)
    want = plain(to.model.model, PROMPT, 12)
    for n in (0, 1, 2, 4, 5):
        run, rounds = decode(to, DraftModel(to.model), PROMPT, max_new_tokens=n)
        assert emitted(rounds) == want[:n] and run.stop == "length"
    for token in dict.fromkeys(want):
        run, rounds = decode(target(name, eos=(token,)), DraftModel(to.model), PROMPT, max_new_tokens=12)
        assert emitted(rounds) == want[:want.index(token) + 1] and run.stop == "eos"
    run, rounds = decode(to, DraftModel(to.model), [*PROMPT, *plain(to.model.model, PROMPT, 40)], max_new_tokens=99)
    assert run.stop == "length" and len(run.tokens) == 64             # the context's end


def test_a_long_prompt_goes_through_in_parts(monkeypatch):
    to = target("gpt2")
    whole = to.verify(torch.tensor(PROMPT * 3), to.new_cache(40), 2)[0]
    monkeypatch.setattr("core.models.target.PREFILL", 8)
    cache = to.new_cache(40)
    torch.testing.assert_close(to.verify(torch.tensor(PROMPT * 3), cache, 2)[0], whole, rtol=0, atol=1e-10)
    assert cache.length == 36 and cache.nbytes == 2 * 2 * 36 * 32 * 8


@pytest.mark.parametrize("name", STATEFUL)
def test_what_keeps_a_state_is_refused_by_name(name, tmp_path):
    """With what works instead, before any weight is read."""
    STATEFUL[name]().save_pretrained(tmp_path)
    save_file({"none.of.it": torch.zeros(1)}, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match=f"{name}.*reject.*Llama"):
        load.load(target=str(tmp_path), dtype="float32", device="cpu")


def test_a_cache_that_does_not_follow_is_refused_by_trial():
    model = build("gpt2")
    forward = model.forward

    class Forgetful(type(model)):
        def forward(self, input_ids=None, cache=None, past_key_values=None, use_cache=None, position_ids=None, **kwargs):
            return forward(input_ids, use_cache=False)

    model.__class__ = Forgetful
    with pytest.raises(UserError, match="rolled back"):
        HFModel(model, "forgetful")


def test_aux_layers_and_trees_are_refused():
    to = target("gpt2")
    with pytest.raises(UserError, match="lookup"):
        to.verify(torch.tensor([1]), to.new_cache(4), 1, None, (0,))

    class Pair:
        target = to

        def draft_model(self):
            return tiny.decoder(), None

    with pytest.raises(UserError, match="--tree"):
        METHODS["draft"].proposer(Pair(), {"tree": "2x2"})
    with pytest.raises(UserError, match="early-exit"):
        METHODS["early-exit"].proposer(Pair(), {})


def test_positions_end_where_rope_changes_with_the_length_of_the_text():
    def config(**changes):
        return type("Config", (), {"max_position_embeddings": 4096, **changes})()

    assert longest(config()) == 4096
    assert longest(config(rope_parameters={"rope_type": "longrope", "original_max_position_embeddings": 512})) == 512
    assert longest(config(rope_parameters={"full_attention": {"rope_type": "dynamic"}}, original_max_position_embeddings=256)) == 256
    assert longest(config(rope_scaling={"type": "yarn", "original_max_position_embeddings": 512})) == 4096


@pytest.fixture
def folder(tmp_path):
    model = build("gpt2", torch.float32)
    model.save_pretrained(tmp_path / "gpt2")
    return tmp_path / "gpt2"


def test_a_folder_loads_and_runs_from_the_command_line(folder, capsys):
    pair = load.load(target=str(folder), dtype="float32", device="cpu")
    assert isinstance(pair.target, HFTarget) and pair.target.vocab_size == 20 and pair.target.max_positions == 64
    want = plain(build("gpt2", torch.float32), PROMPT, 8)
    for method in ("plain", "lookup", "draft"):
        draft = ["--draft", str(folder), "--draft-len", "3"] if method == "draft" else []
        code = main.main(["run", "--target", str(folder), *draft, "--method", method, "--prompt-ids", ",".join(map(str, PROMPT)),
                         "--max-new-tokens", "8", "--dtype", "float32", "--device", "cpu", "--threads", "1", "--json", "-", "--ignore-eos"])
        out = json.loads(capsys.readouterr().out)
        assert code == 0 and [e["id"] for r in out["rounds"] for e in r["emitted"]] == want
        if method == "draft":
            assert out["totals"]["acceptance_rate"] == 1


def test_a_llama_draft_for_a_transformers_target_and_the_other_way_round(folder, tmp_path):
    llama = tiny.checkpoint(tmp_path / "llama")
    for target_, draft in ((folder, llama), (llama, folder)):
        pair = load.load(target=str(target_), draft=str(draft), dtype="float32", device="cpu")
        proposer = METHODS["draft"].proposer(pair, {})
        _, rounds = decode(pair.target, proposer, PROMPT)
        _, alone = decode(pair.target, Proposer(), PROMPT)
        assert emitted(rounds) == emitted(alone) and any(r.drafted for r in rounds)


@pytest.mark.parametrize(("change", "said"), [
    (lambda t: t.pop("transformer.h.1.mlp.c_fc.weight"), "transformer.h.1.mlp.c_fc.weight.*missing"),
    (lambda t: t.update({"transformer.h.7.extra": torch.zeros(2)}), "transformer.h.7.extra.*unexpected"),
    (lambda t: t.update({"transformer.wpe.weight": torch.zeros(64, 31)}), r"transformer.wpe.weight.*\(64, 31\).*\(64, 32\)")])
def test_loading_is_strict(folder, change, said):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=said):
        load.load(target=str(folder), dtype="float32", device="cpu")


@pytest.mark.parametrize(("content", "said"), [
    ({"model_type": "t5", "d_model": 32}, "t5"), ({"model_type": "no_such_model"}, "no_such_model"),
    ({"model_type": "gpt2", "n_embd": "wide"}, "gpt2"), ({"model_type": "gpt2", "n_embd": 30, "n_head": 4}, "gpt2")])
def test_configs_that_are_none(folder, content, said):
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=said):
        load.load(target=str(folder), dtype="float32", device="cpu")


def test_broken_weights(folder):
    (folder / "model.safetensors").write_bytes(b"not weights at all")
    with pytest.raises(UserError, match="weights"):
        load.load(target=str(folder), dtype="float32", device="cpu")
