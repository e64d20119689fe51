"""Tiny random models, scripted proposers and small checkpoints for the tests of core."""
from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.checkpoints import weights
from core.decoding.loop import Decoding, Options
from core.methods.base import Context, Draft, Proposer
from core.methods.draft_model import DraftModel
from core.methods.early_exit import EarlyExit
from core.models.config import DecoderConfig
from core.models.decoder import Decoder
from core.models.target import DecoderTarget
from core.models.text import Text
from core.sampling import probs
from core.sampling.probs import Sampling
from core.trace import Round

F64, F32 = torch.float64, torch.float32
DEVICE = "cpu"      # of all models made here


def config(**changes: Any) -> DecoderConfig:
    """A config of two layers and 20 ids, with changes."""
    sizes = {"vocab_size": 20, "hidden_size": 32, "intermediate_size": 48, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2,
             "head_dim": 8, "max_positions": 64}
    return DecoderConfig(**sizes | changes)


def random_tensors(c: DecoderConfig, seed: int, head_size: int | None = None) -> dict[str, Tensor]:
    """The tensors of a random checkpoint whose distributions are neither flat nor one-hot. Made once; a test gets copies."""
    plan = tuple(weights.plan(c, head_size).items())
    made = _random_tensors if DEVICE == "cpu" else _random_tensors.__wrapped__           # tensors of a fake GPU live for one test
    return {name: t.clone() for name, t in made(plan, seed).items()}


@lru_cache(maxsize=256)
def _random_tensors(plan: tuple[tuple[str, tuple[int, ...]], ...], seed: int) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed)

    def values(name: str, shape: tuple[int, ...]) -> Tensor:
        scale = 1.0 if "embed" in name else 0.5 if "lm_head" in name else 0.3
        noise = torch.randn(shape, generator=rng, dtype=F64) * scale
        return 1 + noise if name.endswith("norm.weight") else noise

    return {name: values(name, shape) for name, shape in plan}


def decoder(seed: int = 0, dtype: torch.dtype = F64, head_size: int | None = None, **changes: Any) -> Decoder:
    c = config(**changes)
    return weights.build(c, random_tensors(c, seed, head_size), "tiny", dtype, DEVICE, head_size)


def target(seed: int = 0, dtype: torch.dtype = F64, vocab_size: int | None = None, eos: tuple[int, ...] = (), **changes: Any) -> DecoderTarget:
    return DecoderTarget(decoder(seed, dtype, **changes), vocab_size, eos)


def hf_config(c: DecoderConfig, **changes: Any) -> dict[str, Any]:
    """config.json of a Llama checkpoint."""
    out = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": c.vocab_size, "hidden_size": c.hidden_size,
           "intermediate_size": c.intermediate_size, "num_hidden_layers": c.num_layers, "num_attention_heads": c.num_heads,
           "num_key_value_heads": c.num_kv_heads, "head_dim": c.head_dim, "rms_norm_eps": c.rms_norm_eps, "rope_theta": c.rope_theta,
           "max_position_embeddings": c.max_positions, "tie_word_embeddings": c.tied_head, "eos_token_id": None}
    return out | changes


def checkpoint(folder: Path, seed: int = 0, tokenizer: Any = None, hf: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A checkpoint folder in transformers' format, float32."""
    from safetensors.torch import save_file
    c = config(**changes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(hf_config(c, **hf or {})))
    save_file({name: t.float() for name, t in random_tensors(c, seed).items()}, folder / "model.safetensors")
    if tokenizer is not None:
        tokenizer.save(str(folder / "tokenizer.json"))
    return folder


SPECIALS = ["<|end|>", "<|user|>"]


def tokenizer(extra: tuple[str, ...] = ()) -> Any:
    """Byte-level BPE without merges: two special tokens, then the 256 bytes, then `extra`. 258 ids or more."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    vocab = {t: i for i, t in enumerate([*SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *extra])}
    out = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    out.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    out.decoder = decoders.ByteLevel()
    out.add_special_tokens([AddedToken(t, special=True) for t in SPECIALS])
    return out


def sentencepiece() -> Any:
    """BPE in the manner of Llama 2: `\u2581` for a space, one put in front of every text, byte tokens for what is not in the vocabulary."""
    from tokenizers import Tokenizer, decoders, models, normalizers
    letters = [chr(c) for c in range(97, 123)]
    pieces = ["<unk>", "<s>", "</s>", "\u2581<PRE>", *(f"<0x{b:02X}>" for b in range(256)), "\u2581", *letters, "\u2581a", "ab", "\u2581ab"]
    out = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=[("a", "b"), ("\u2581", "ab"), ("\u2581", "a")], unk_token="<unk>",
                               fuse_unk=True, byte_fallback=True))
    out.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    out.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    out.add_special_tokens(pieces[:4])
    return out


def text(made: Any, **config: Any) -> Text:
    """A tokenizer of the `tokenizers` library as core reads it. config: what would stand in tokenizer_config.json."""
    from transformers import PreTrainedTokenizerFast
    return Text(PreTrainedTokenizerFast(tokenizer_object=made, **config))


def logits_after(model: Decoder, tokens: list[int]) -> Tensor:
    """Logits [V] of the next token from a forward without cache, the reference for all code with a cache. Computed once for the same weights."""
    state = tuple((id(p), p._version) for p in model.parameters())          # another number after a change in place
    return _logits_after(model, tuple(tokens), state, model.kernel).clone()


@lru_cache(maxsize=8192)
def _logits_after(model: Decoder, tokens: tuple[int, ...], state: tuple, kernel: str | None) -> Tensor:
    with torch.inference_mode():
        return model(torch.tensor([tokens]))[0, -1]


def dist_after(model: Decoder, tokens: list[int], sampling: Sampling, vocab_size: int | None = None) -> Tensor:
    """The distribution of the next token after `tokens`, from a forward without cache."""
    logits = logits_after(model, tokens)[:vocab_size]
    seen = torch.zeros(len(logits), dtype=torch.bool)
    seen[[t for t in tokens if t < len(logits)]] = True
    return probs.probabilities(probs.scores(logits, sampling, seen), sampling)


def greedy(model: Decoder, tokens: list[int], n: int, vocab_size: int | None = None) -> list[int]:
    """n tokens of plain greedy decoding, each from a forward without cache."""
    out = list(tokens)
    for _ in range(n):
        out.append(int(logits_after(model, out)[:vocab_size].argmax()))
    return out[len(tokens):]


class Scripted(Proposer):
    """Deterministic drafts: choose(tokens so far) -> the next id, at most `most` of them. `asked` logs every k."""

    def __init__(self, choose: Callable[[list[int]], int], most: int = 99) -> None:
        self.choose, self.most = choose, most
        self.asked: list[int] = []

    def propose(self, ctx: Context, k: int) -> Draft | None:
        self.asked.append(k)
        tokens = list(ctx.tokens)
        for _ in range(min(k, self.most)):
            tokens.append(self.choose(tokens))
        new = tokens[len(ctx.tokens):]
        return Draft(torch.tensor(new)) if new else None


def perfect(model: Decoder) -> Scripted:
    """Drafts the target's likeliest tokens."""
    return Scripted(lambda tokens: int(logits_after(model, tokens).argmax()))


def always_wrong(model: Decoder) -> Scripted:
    """Drafts the target's least likely tokens."""
    return Scripted(lambda tokens: int(logits_after(model, tokens).argmin()))


def right_for(model: Decoder, n: int) -> Scripted:
    """The first n tokens of every draft are the target's likeliest, the others its least likely."""
    class Some(Scripted):
        def propose(self, ctx: Context, k: int) -> Draft | None:
            start = len(ctx.tokens)
            self.choose = lambda t: int(logits_after(model, t).argmax() if len(t) - start < n else logits_after(model, t).argmin())
            return super().propose(ctx, k)
    return Some(lambda tokens: 0)


class Uniform(Proposer):
    """Draws every token uniformly from the vocabulary, with that distribution as q."""

    def propose(self, ctx: Context, k: int) -> Draft | None:
        q = torch.full((k, ctx.vocab_size), 1 / ctx.vocab_size, dtype=ctx.dtype)
        return Draft(probs.draw(q, ctx.uniforms(k)), q, q.log())


def other_model(model: Decoder, seed: int = 7) -> DraftModel:
    """A draft model that is an unrelated tiny model of the same vocabulary."""
    return DraftModel(decoder(seed, model.dtype, num_layers=1, vocab_size=model.config.vocab_size, max_positions=model.config.max_positions))


def near_model(model: Decoder, noise: float = 0.05) -> DraftModel:
    """A draft model that is the target with noise on its head: often accepted, not always."""
    c = model.config
    tensors = random_tensors(c, 0)
    rng = torch.Generator().manual_seed(1)
    tensors["lm_head.weight"] = tensors["lm_head.weight"] + noise * torch.randn(tensors["lm_head.weight"].shape, generator=rng, dtype=F64)
    return DraftModel(weights.build(c, tensors, "tiny", model.dtype, "cpu"))


DRAFTS: dict[str, Callable[[Decoder], Proposer]] = {
    "wrong": always_wrong, "perfect": lambda model: DraftModel(model), "scripted": perfect, "uniform": lambda model: Uniform(),
    "other": other_model, "near": near_model, "early exit": lambda model: EarlyExit(DecoderTarget(model), "1")}

PROMPT = [3, 1, 4, 1, 5]


def decode(to: DecoderTarget, proposer: Proposer, prompt: list[int] = PROMPT, text: Any = None, sampling: Sampling | None = None,
           **options: Any) -> tuple[Decoding, list[Round]]:
    """Decode to the end (16 tokens, greedily, unless options differ) -> (the Decoding, its rounds)."""
    options = {"max_new_tokens": 16, "sampling": sampling or Sampling()} | options
    run = Decoding(to, proposer, prompt, Options(**options), text)
    return run, list(run)


def emitted(rounds: list[Round]) -> list[int]:
    return [e.id for r in rounds for e in r.emitted]
