"""The draft's reduced vocabulary: the ids that the target writes most often. A full output head would cost a fifth of the target's step."""
from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from core.train.data import Text


def choose(texts: Iterable[Text], size: int, vocab_size: int, always: Iterable[int] = (), among: Tensor | None = None) -> Tensor:
    """The `size` most frequent ids of the written parts, including the ids `always` (EOS), ascending: int64 [size].

    Of equally frequent ids the lower come first, since byte-pair vocabularies list frequent merges first. among: the ids to choose from.
    """
    counts = torch.zeros(vocab_size, dtype=torch.int64)
    for text in texts:
        counts += torch.bincount(torch.tensor(text.written), minlength=vocab_size)
    for i in always:
        counts[i] = torch.iinfo(torch.int64).max
    if among is not None:
        outside = torch.ones(vocab_size, dtype=torch.bool)
        outside[among] = False
        counts[outside] = -1
        size = min(size, len(among))
    order = counts.argsort(descending=True, stable=True)
    return order[:min(size, vocab_size)].sort().values
