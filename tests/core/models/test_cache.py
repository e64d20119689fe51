"""The KV cache: writing, rollback and gather, and that it raises instead of overflowing."""
from __future__ import annotations

import pytest
import torch

from core.models.cache import KVCache


def filled(length: int) -> KVCache:
    cache = KVCache(2, 1, 3, 8, 4, torch.float32)
    rows = torch.arange(length, dtype=torch.float32).view(1, 1, length, 1).expand(1, 3, length, 4)
    for layer in range(2):
        cache.write(layer, rows + 100 * layer, -rows - 100 * layer)
    cache.length = length
    return cache


def test_writing_over_the_end_is_refused():
    """A slice past the end would silently store fewer entries."""
    cache = filled(6)
    with pytest.raises(IndexError, match="8 positions"):
        cache.write(0, torch.zeros(1, 3, 3, 4), torch.zeros(1, 3, 3, 4))
    assert cache.write(0, torch.ones(1, 3, 2, 4), torch.ones(1, 3, 2, 4))[0].shape[2] == 8


@pytest.mark.parametrize("length", [-1, 6, 99])
def test_a_rollback_to_more_than_there_is_is_refused(length):
    with pytest.raises(IndexError):
        filled(5).truncate(length)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_rollback_keeps_what_lies_before(length):
    cache = filled(5)
    cache.truncate(length)
    assert cache.length == length and cache.k[1, 0, 0, :length, 0].tolist() == [100 + i for i in range(length)]


@pytest.mark.parametrize("rows", [[], [0], [2], [0, 3], [1, 2, 3], [0, 1, 2, 3]])
def test_gather_moves_keys_and_values_together(rows):
    cache = filled(7)
    cache.gather(3, torch.tensor(rows, dtype=torch.long))
    want = [0, 1, 2, *(3 + r for r in rows)]
    assert cache.length == len(want)
    for layer in range(2):
        assert cache.k[layer, 0, 2, :len(want), 1].tolist() == [100 * layer + x for x in want]
        assert cache.v[layer, 0, 2, :len(want), 1].tolist() == [-100 * layer - x for x in want]


def test_nbytes_is_the_size_of_its_tensors():
    assert filled(1).nbytes == 2 * (2 * 3 * 8 * 4) * 4
