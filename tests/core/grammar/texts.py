"""A tokenizer of eight ids with merges, so that a text can be written in several ways, and what a grammar leaves of the target's distribution."""
from __future__ import annotations

import re

import torch
from torch import Tensor

from core.grammar.constraint import Constraint
from core.grammar.matcher import Cursor, Grammar, has
from core.models.target import DecoderTarget
from core.models.text import Text
from core.sampling import probs
from core.sampling.probs import Sampling
from tests.core import tiny

PIECES = ["<e>", "a", "b", "c", "d", "ab", "cd", "abc"]
EOS = 0


def text() -> Text:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    out = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(PIECES)}, merges=[("a", "b"), ("c", "d"), ("ab", "c")]))
    out.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    out.decoder = decoders.ByteLevel()
    out.add_special_tokens([AddedToken("<e>", special=True)])
    return tiny.text(out)


def target(seed: int = 0, **changes) -> DecoderTarget:
    made = DecoderTarget(tiny.decoder(seed, vocab_size=8, num_layers=3, **changes), None, (EOS,))
    made.model.head.weight.data *= 0.4          # flatter distributions, so that the grammar and not the model decides little and often
    return made


def allowed(constraint: Constraint, words: Text, output: list[int]) -> Tensor:
    """[8] bool: the ids allowed after `output`, from a matcher that has read it from its beginning."""
    cursor = Cursor(Grammar(constraint, words, len(PIECES), (EOS,)))
    fit = cursor.take(output)
    return torch.tensor([has(cursor.mask(), i) if fit == len(output) else True for i in range(len(PIECES))])


def dist(to: DecoderTarget, constraint: Constraint, words: Text, prompt: list[int], output: list[int], sampling: Sampling) -> Tensor:
    """The constrained target's distribution [8] after prompt and output, from a forward without cache."""
    tokens = [*prompt, *output]
    seen = torch.zeros(8, dtype=torch.bool).index_fill_(0, torch.tensor(tokens), True)
    scored = probs.scores(tiny.logits_after(to.model, tokens), sampling, seen)
    return probs.probabilities(scored.masked_fill(~allowed(constraint, words, output), -torch.inf), sampling)


def greedy(to: DecoderTarget, constraint: Constraint, words: Text, prompt: list[int], n: int, sampling: Sampling | None = None) -> list[int]:
    """Plain constrained greedy decoding, up to EOS or n tokens."""
    out: list[int] = []
    while len(out) < n and out[-1:] != [EOS]:
        out.append(int(dist(to, constraint, words, prompt, out, sampling or Sampling()).argmax()))
    return out


def written(output: list[int]) -> str:
    return "".join(PIECES[t] for t in output if t != EOS)


def matches(pattern: str, output: list[int]) -> bool:
    return re.fullmatch(pattern, written(output)) is not None
