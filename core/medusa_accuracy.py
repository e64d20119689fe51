"""How often each Medusa head's r-th guess is right on the target's own answers: what its static tree is made from."""
from __future__ import annotations

from collections.abc import Sequence

import torch

from core.load import Pair
from core.loop import Decoding, Options
from core.propose.base import Proposer
from core.propose.medusa import Medusa, rank_accuracy

RANKS = 8


def accuracy(pair: Pair, prompts: Sequence[str], new_tokens: int) -> list[list[float]]:
    """[head][rank]: shares of right guesses of the pair's Medusa heads on the target's own greedy answers. For `head_accuracy` in
    the head's config.json, from which `--tree auto` is made."""
    heads = Medusa.build(pair).heads
    tap, tables, counts = heads.target[0].config.num_layers, [], []
    for prompt in prompts:
        run = Decoding(pair.target, Proposer(), pair.text.chat(prompt, None), Options(new_tokens, record=False), pair.text)
        for _ in run:
            pass
        with torch.inference_mode():
            ids = torch.tensor(run.tokens, device=pair.target.device)
            _, states = pair.target.verify(ids, pair.target.new_cache(len(ids)), 1, None, (tap,))
        written = run.tokens[run.prompt_len - 1:]
        if len(written) > heads.count + 1:
            tables.append(rank_accuracy(heads, states[tap][run.prompt_len - 1:], written, RANKS))
            counts.append(len(written) - heads.count - 1)
    mean = sum(t * n for t, n in zip(tables, counts)) / sum(counts)
    return [[round(float(x), 4) for x in row] for row in mean]
