"""Lets the target write its own training text, in batches of many texts."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from core.models.cache import KVCache
from core.models.decoder import Decoder
from core.sampling import probs
from core.train import data
from core.train.data import Text

ROWS = 96               # texts a batch
MAX_NEW = 240           # tokens a text
TEMPERATURES = (0.0, 0.4, 0.7, 1.0)     # greedy text too, since 0 is the default of decoding


def batches(prompts: Sequence[Sequence[int]], rows: int = ROWS) -> list[list[int]]:
    """Groups of prompts (as indices) of equal length, which need no padding mask, at most `rows` in each."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for i, prompt in enumerate(prompts):
        by_length[len(prompt)].append(i)
    return [group[a:a + rows] for _, group in sorted(by_length.items()) for a in range(0, len(group), rows)]


def generate(target: Decoder, prompts: Sequence[Sequence[int]], path: Path, eos_ids: Sequence[int], seed: int,
             max_new: int = MAX_NEW, progress: Callable[[int], None] = lambda texts: None) -> None:
    """Append a text for every prompt to `path`, batch after batch. The file of an interrupted call is continued.

    Every batch has its own random generator, so that the result does not depend on where a call was interrupted.
    """
    done = _keep_whole_batches(path, batches(prompts))
    for number, group in enumerate(batches(prompts)):
        if number >= done:
            generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
            temperatures = torch.tensor([TEMPERATURES[i % len(TEMPERATURES)] for i in group])
            written = write(target, torch.tensor([list(prompts[i]) for i in group]), temperatures, eos_ids, max_new, generator)
            data.write(path, [Text(tuple(prompts[i]), tuple(ids)) for i, ids in zip(group, written)])
        progress(len(group))


def _keep_whole_batches(path: Path, groups: list[list[int]]) -> int:
    """Cut the file after its last complete batch. Returns the number of complete batches."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    whole = len(lines) - (bool(lines) and not lines[-1].endswith("\n"))
    done = texts = 0
    for group in groups:
        if texts + len(group) > whole:
            break
        done, texts = done + 1, texts + len(group)
    if texts < len(lines):
        path.write_text("".join(lines[:texts]), encoding="utf-8")
    return done


@torch.no_grad()
def write(target: Decoder, prompts: Tensor, temperatures: Tensor, eos_ids: Sequence[int], max_new: int,
          generator: torch.Generator) -> list[list[int]]:
    """prompts [B, n], temperatures [B] -> the ids written after each, EOS included, at most `max_new`."""
    rows, (count, n) = torch.arange(len(prompts)), prompts.shape
    out: list[list[int]] = [[] for _ in range(count)]
    cache = target.new_cache(n + max_new, count)
    hidden = target.run(prompts.to(target.device), cache)[0][:, -1:]
    for step in range(max_new):
        ids = draw(target.logits(hidden)[:, 0], temperatures[rows], generator)
        for row, i in zip(rows.tolist(), ids.tolist()):
            out[row].append(i)
        alive = torch.tensor([i not in eos_ids for i in ids.tolist()])
        if not bool(alive.any()) or step == max_new - 1:
            break
        if not bool(alive.all()):
            rows, ids, cache = rows[alive], ids[alive], _take_rows(cache, alive)
        hidden = target.run(ids[:, None].to(target.device), cache)[0]
    return out


def _take_rows(cache: KVCache, alive: Tensor) -> KVCache:
    """A copy of the cache with the rows where alive [B] bool is true."""
    layers, _, heads, capacity, size = cache.k.shape
    new = KVCache(layers, int(alive.sum()), heads, capacity, size, cache.k.dtype, cache.k.device)
    alive = alive.to(cache.k.device)
    new.k[:, :, :, :cache.length], new.v[:, :, :, :cache.length] = cache.k[:, alive, :, :cache.length], cache.v[:, alive, :, :cache.length]
    new.length = cache.length
    return new


def draw(logits: Tensor, temperatures: Tensor, generator: torch.Generator) -> Tensor:
    """[B, V] -> ids [B] on the CPU: the likeliest at temperature 0, else drawn from softmax(logits / temperature)."""
    z = logits.float().cpu()
    ids, sampled = z.argmax(-1), temperatures > 0
    uniforms = torch.rand(len(z), generator=generator)
    if bool(sampled.any()):
        ids[sampled] = probs.draw(torch.softmax(z[sampled] / temperatures[sampled, None], -1), uniforms[sampled])
    return ids
