"""The target's features of the training texts (hidden states, likeliest ids), computed once and cached on disk.

A folder for each data file holds flat, memory-mapped arrays over all its tokens, text after text:

    ids     int32    [N]         prompt and continuation
    states  bfloat16 [N, T, H]   hidden states: inputs of the aux layers; the last one is the output of the last layer, before the final norm
    rows    int16    [N, K]      the K likeliest ids of the *draft vocabulary* (as rows of it) for the token that follows
    logps   float16  [N, K]      their log-probabilities at temperature 1 under the target's whole vocabulary
    best    int32    [N]         the target's argmax over its whole vocabulary, as an id

rows, logps and best are filled at positions whose next token the target wrote, the last prompt token included.
"""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.checkpoints.draft_format import fingerprint
from core.errors import UserError
from core.models.decoder import Decoder
from core.train.data import Text

FORMAT = 1
TOP = 64
MOST_ROWS = 32_767      # int16
WINDOW = 64             # texts between two saves of the progress; within them, texts of similar length share a batch
BATCH_TOKENS = 4096
HEAD_ROWS = 128         # positions whose logits are computed at once: 128 x 49,152 floats are reused memory, whole batches cause page faults
ARRAYS = {"ids": torch.int32, "states": torch.bfloat16, "rows": torch.int16, "logps": torch.float16, "best": torch.int32}


class FeatureCache:
    """The arrays of one folder, with `starts` [texts + 1] (positions of the texts), `prompts` [texts] (prompt lengths), `done` (texts computed)."""

    def __init__(self, folder: Path, texts: Sequence[Text], aux_layers: Sequence[int], token_ids: Tensor, target: Decoder) -> None:
        """token_ids: the vocabulary of `rows`. Raises UserError if the folder holds features of something else."""
        self.folder, self.texts, self.aux_layers, self.token_ids = folder, texts, tuple(aux_layers), token_ids
        lengths = torch.tensor([0] + [len(t.ids) for t in texts])
        self.starts, self.prompts = lengths.cumsum(0), torch.tensor([len(t.prompt) for t in texts])
        c = target.config
        self.meta: dict[str, Any] = {
            "format": FORMAT, "target": fingerprint(target.embed), "taps": [*self.aux_layers, c.num_layers], "top": TOP,
            "vocabulary": hashlib.sha256(token_ids.to(torch.int64).numpy().tobytes()).hexdigest(),
            "texts": hashlib.sha256(json.dumps([[t.prompt, t.written] for t in texts]).encode()).hexdigest()}
        self._open(c.hidden_size)

    def _open(self, hidden: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = self.folder / "meta.json"
        n = int(self.starts[-1])
        if mark.exists():
            there = json.loads(mark.read_text(encoding="utf-8"))
            if set(self.meta["taps"]) <= set(there["taps"]):        # a cache with more layers serves too ("taps": the aux layers)
                self.meta["taps"], self.aux_layers = there["taps"], tuple(there["taps"][:-1])
            if {k: v for k, v in there.items() if k != "done"} != self.meta:
                raise UserError(f"{self.folder} holds features of other texts, another target or other settings; "
                                "remove it or choose another --cache.")
            self.done = there["done"]
        else:
            self.done = 0
        shapes = {"ids": (n,), "states": (n, len(self.aux_layers) + 1, hidden), "rows": (n, TOP), "logps": (n, TOP), "best": (n,)}
        for name, shape in shapes.items():
            size = 1
            for s in shape:
                size *= s
            array = torch.from_file(str(self.folder / name), shared=True, size=size, dtype=ARRAYS[name]).view(shape)
            setattr(self, name, array)
        if not mark.exists():
            self._mark()

    def _mark(self) -> None:
        new = self.folder / "meta.json.new"
        new.write_text(json.dumps({**self.meta, "done": self.done}), encoding="utf-8")
        os.replace(new, self.folder / "meta.json")

    @torch.no_grad()
    def fill(self, target: Decoder, progress: Callable[[int], None] = lambda tokens: None) -> None:
        """Compute what is missing. It may be interrupted at any time; the next call continues from the last saved progress."""
        while self.done < len(self.texts):
            window = range(self.done, min(self.done + WINDOW, len(self.texts)))
            batch: list[int] = []
            for i in sorted(window, key=lambda i: len(self.texts[i].ids)):
                if batch and (len(batch) + 1) * len(self.texts[i].ids) > BATCH_TOKENS:
                    progress(self._run(target, batch))
                    batch = []
                batch.append(i)
            progress(self._run(target, batch))
            self.done = window.stop
            self._mark()

    def _run(self, target: Decoder, batch: list[int]) -> int:
        """Compute the features of some texts in one pass, padded on the right, where causal attention never reads. Returns their tokens."""
        longest = max(len(self.texts[i].ids) for i in batch)
        ids = torch.zeros(len(batch), longest, dtype=torch.int64)
        for row, i in enumerate(batch):
            ids[row, :len(self.texts[i].ids)] = torch.tensor(self.texts[i].ids)
        hidden, by_layer = target.run(ids.to(target.device), aux_layers=self.aux_layers)
        hidden_states = torch.stack([*(by_layer[t] for t in self.aux_layers), hidden], 2)
        token_ids = self.token_ids.to(target.device)
        for row, i in enumerate(batch):
            n, a = len(self.texts[i].ids), int(self.starts[i])
            first = len(self.texts[i].prompt) - 1
            self.ids[a:a + n] = ids[row, :n].int()
            self.states[a:a + n] = hidden_states[row, :n].to("cpu", torch.bfloat16)
            for b in range(first, n, HEAD_ROWS):
                end = min(n, b + HEAD_ROWS)
                logits = target.logits(hidden[row, b:end]).float()
                top = logits[:, token_ids].topk(min(TOP, len(token_ids)), -1)
                logps = top.values - logits.logsumexp(-1, keepdim=True)
                k = logps.shape[1]
                self.rows[a + b:a + end, :k] = top.indices.to("cpu", torch.int16)
                self.logps[a + b:a + end, :k] = logps.to("cpu", torch.float16)
                self.logps[a + b:a + end, k:] = -torch.inf
                self.best[a + b:a + end] = logits.argmax(-1).to("cpu", torch.int32)
        return sum(len(self.texts[i].ids) for i in batch)
