"""The prompts of `--generate`: every task with every topic, some topics held out for measuring (assets/train_prompts.json)."""
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch

from core.assets import ASSETS

FILE = ASSETS / "train_prompts.json"


@dataclass(frozen=True)
class Prompts:
    """Parts that prompts are made of."""
    topics: list[str]
    held_out_topics: list[str]
    tasks: list[str]            # texts with {topic}
    passages: list[str]
    passage_tasks: list[str]    # texts with {passage}

    def choose(self, count: int, seed: int) -> list[str]:
        """`count` distinct prompts in an order that depends only on the seed, so that a larger count adds prompts at the end."""
        every = [t.format(topic=x) for x in (*self.topics, *self.held_out_topics) for t in self.tasks]
        every += [t.format(passage=p) for p in self.passages for t in self.passage_tasks]
        order = torch.randperm(len(every), generator=torch.Generator().manual_seed(seed)).tolist()
        return [every[i] for i in order[:count]]

    def __len__(self) -> int:
        return (len(self.topics) + len(self.held_out_topics)) * len(self.tasks) + len(self.passages) * len(self.passage_tasks)


def load(path: Path = FILE) -> Prompts:
    return Prompts(**json.loads(path.read_text(encoding="utf-8")))
