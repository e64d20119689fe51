"""A pair by name, Hub id, folder or GGUF file -> a target ready to run, its text and what can draft for it."""
from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.assets import ASSETS, missing
from core.checkpoints import arithmetic, embedded, formats, hf_model, memory, presets, quantize, weights
from core.checkpoints.hf_model import HFModel, HFTarget
from core.checkpoints.resolve import Progress, readable, resolve
from core.errors import EnvironmentFailure, UserError
from core.json_file import read_object
from core.models.config import DecoderConfig, Unsupported
from core.models.config_values import end_ids
from core.models.decoder import Decoder
from core.models.device import pick_device, pick_dtype, pick_kernel
from core.models.target import DecoderTarget, Target
from core.models.text import NoText, Text, first_difference

PAIRS = ("smollm2",)
LOOKED_UP = ("lookup", "suffix")        # methods whose drafts come from the text alone
HASHED = 4 << 30        # larger weights are named by size alone: hashing them would take longer than loading


@dataclass
class Pair:
    """A target and its possible drafts. drafts: method -> folder, read when the method is first used. weights: name -> what `fingerprint` says."""
    name: str
    target_name: str
    target: Target
    text: Text | NoText
    weights: dict[str, str] = field(default_factory=dict)
    drafts: dict[str, Path] = field(default_factory=dict)
    given: str | None = None            # the method that a draft named by the user is for
    notes: dict[str, Any] = field(default_factory=dict)     # for the trace's `run`: how the weights were quantised, where they lie
    _loaded: dict[str, Any] = field(default_factory=dict)

    def draft_name(self, method: str) -> str | None:
        """What the record calls this method's draft: a Hub id, the folder's name, or ours behind its target's; None without one."""
        folder = self.drafts.get(method)
        return f"{folder.parent.name}/{method}" if folder and folder.is_relative_to(ASSETS) else readable(folder) if folder else None

    def draft_model(self) -> tuple[Decoder | HFModel, Tensor | None]:
        """The draft model and the target id of each of its output rows (None: the same ids). Raises UserError without one, or where its
        ids mean another text than the target's."""
        if trouble := self.other_text():
            raise UserError(trouble)
        return self.draft_of_any_text()

    def draft_of_any_text(self) -> tuple[Decoder | HFModel, Tensor | None]:
        """As `draft_model`, whatever its ids mean."""
        folder = self.draft_folder()
        if "draft" not in self._loaded:
            self._loaded["draft"] = self._load_draft(folder)
            self.weights[f"draft:{readable(folder)}"] = fingerprint(folder)
        return self._loaded["draft"]

    def acceptance(self, method: str, greedy: bool) -> dict[str, list[list[float]]] | None:
        """What was measured with the shipped drafts: of drafts that reach a level, the share whose node of rank 0, 1, ... is accepted there;
        [level][rank], by part of the proposer ("" the main one). None for other drafts, and for layers of another target; what is looked
        up in the text depends little on the target."""
        first, _, main = method.rpartition("+")
        folder = self.drafts.get(main)
        shipped = folder.is_relative_to(ASSETS) if folder is not None else self.name in PAIRS or main in LOOKED_UP
        if "acceptance" not in self._loaded:
            file = ASSETS / "smollm2" / "acceptance.json"
            self._loaded["acceptance"] = read_object(file) if file.is_file() else {}
        known = self._loaded["acceptance"].get("greedy" if greedy else "sampled", {})
        wanted = ({"": main} if shipped else {}) | ({first: f"{first}+"} if first else {})
        return {part: known[name] for part, name in wanted.items() if name in known} or None

    def other_text(self) -> str | None:
        """Why the draft model's ids do not mean what the target's do; None where they do. Compared once."""
        if "other text" not in self._loaded:
            self._loaded["other text"] = other_text(self.text, self.draft_text(), readable(self.draft_folder()))
        return self._loaded["other text"]

    def enough(self) -> AbstractContextManager[None]:
        """Around what runs on the target: a lack of memory becomes EnvironmentFailure, which says what would fit."""
        return memory.guarded(self.target, self.target_name)

    def head(self, method: str, make: Callable[[Path], Any]) -> Any:
        """What `make` makes of the folder of this method's draft head, made once. Raises UserError without one."""
        folder = self.drafts.get(method)
        if folder is None:
            raise UserError(f"This target has no {method} head here: name one with --draft PATH_OR_ID, or take --method plain.")
        if method not in self._loaded:
            self._loaded[method] = make(folder)
            self.weights[f"{method}:{readable(folder)}"] = fingerprint(folder)
        return self._loaded[method]

    def draft_folder(self) -> Path:
        """Raises UserError where the pair has no draft model."""
        folder = self.drafts.get("draft")
        if folder is None:
            raise UserError("This target has no draft model here: name one with --draft PATH_OR_ID, or take --method plain.")
        return folder

    def draft_text(self) -> Text | NoText:
        """The draft model's own tokenizer; one trained here for this target has none, it speaks the target's."""
        if "text" not in self._loaded:
            self._loaded["text"] = Text.from_folder(self.draft_folder())
        return self._loaded["text"]

    def _load_draft(self, folder: Path) -> tuple[Decoder | HFModel, Tensor | None]:
        from core.checkpoints import draft_format
        if weights.read_config(folder).get("model_type") != draft_format.MODEL_TYPE:
            return self._packed(load_model(folder, self.target.dtype, self.target.device)), None
        if not isinstance(self.target, DecoderTarget):
            raise UserError(f"The draft {folder.name} was trained for another target than {self.target_name}.")
        model = self.target.model
        decoder, token_map = draft_format.load_draft(folder, model, model.dtype, model.device)
        return self._packed(decoder), token_map

    def _packed(self, draft: Decoder | HFModel) -> Decoder | HFModel:
        """The draft in the CPU kernel that goes with the target's."""
        kernel = self.target.model.draft_kernel if isinstance(self.target, DecoderTarget) else None
        if kernel and isinstance(draft, Decoder):
            draft.pack(kernel)
        return draft


def load(pair: str = "smollm2", target: str | None = None, draft: str | None = None, dtype: str = "auto", device: str = "auto",
         progress: Progress | None = None, quantize_to: str | None = None, anew: bool = False) -> Pair:
    """Load a known pair, or `target` with an optional `draft` (Hub id, folder, .gguf). quantize_to: int8 or int4, as `dtype`, which then says how
    the rest of the model is kept. anew: dtype auto measures again what was chosen earlier.

    Raises UserError or EnvironmentFailure.
    """
    report = progress or (lambda *_: None)
    where = pick_device(device)
    if dtype in quantize.KINDS and quantize_to is None:
        dtype, quantize_to = "auto", dtype
    if quantize_to is not None and dtype == "auto" and where.type == "cpu":
        dtype = "bfloat16"              # of the rest of the model
    kind, kernel = pick_dtype(dtype, where), pick_kernel(dtype, where)
    measured = dtype == "auto" and where.type == "cpu" and quantize_to is None
    if quantize_to is not None:
        quantize.check(quantize_to, where, kind)
    folder, name, target_name, drafts, notes = _find(pair, target, report)
    given = None
    if draft is not None:
        at = resolve(draft, report)
        given = formats.method_of(at)
        drafts[given] = at
    known = target is None and pair in PAIRS
    holds = formats.sniff(folder) if not known and (folder / "config.json").is_file() else "model"
    if holds == "medusa-1.0":
        drafts.setdefault("medusa", folder)
    elif holds != "model":
        raise UserError(f"{target_name} is a draft head ({holds}) and no target: give it with --draft.")
    report("Loading the target…", None)
    text, mark = Text.from_folder(folder), fingerprint(folder)
    try:
        if measured and holds == "model" and _measurable(folder, where):
            model, chosen = _measured(folder, where, holds, target_name, text, mark, anew)
            notes = notes | {"arithmetic": vars(chosen)}
        else:
            model = _in_kernel(load_model(folder, kind, where, holds, target_name, quantize_to), kernel, target_name)
    except (MemoryError, RuntimeError) as error:
        if not memory.is_out(error):
            raise
        raise EnvironmentFailure(memory.no_room(target_name, folder, kind, where, quantize_to)) from None
    ready = (DecoderTarget if isinstance(model, Decoder) else HFTarget)(model, text.size, eos_ids(folder, model.config))
    if isinstance(ready, DecoderTarget) and quantize_to:
        ready.direct = f"the layers are another library's ({model.notes['quantize']})"       # whose kernels may look at their data
    return Pair(name, target_name, ready, text, {target_name: mark}, drafts, given, notes | getattr(model, "notes", {}))


def _measurable(folder: Path, device: torch.device) -> bool:
    """Whether our own decoder runs the model and memory holds it in float32, from which every arithmetic is made."""
    try:
        config = DecoderConfig.from_hf(weights.read_config(folder))
    except Unsupported:
        return False
    free = memory.free_bytes(device)
    return free is None or 2 * memory.sizes(weights.plan(config), torch.float32)[None] < free


def _measured(folder: Path, device: torch.device, holds: str, name: str, text: Text | NoText, mark: str,
              anew: bool) -> tuple[Decoder, arithmetic.Choice]:
    """The model in the arithmetic that is the fastest on this CPU, and why. mark: the weights' fingerprint."""
    def whole() -> Decoder:
        return load_model(folder, torch.float32, device, holds, name)

    chosen = None if anew else arithmetic.known(mark)
    if chosen:
        return arithmetic.apply(whole(), chosen.name), chosen
    config = DecoderConfig.from_hf(weights.read_config(folder))
    limit = min(config.max_positions, 128)
    ids = text.encode(arithmetic.TEXT)[:limit] if isinstance(text, Text) else [i * 7919 % config.vocab_size for i in range(min(limit, 64))]
    return arithmetic.choose(whole, ids, mark)


def _in_kernel(model: Decoder | HFModel, kernel: str | None, name: str) -> Decoder | HFModel:
    """The model as --dtype asks. Raises UserError where its weights or layers do not allow it."""
    if kernel is None:
        plain = isinstance(model, Decoder) and not hasattr(model, "notes")         # notes: another library's layers
        return arithmetic.apply(model, str(model.dtype).removeprefix("torch.")) if plain else model
    if not isinstance(model, Decoder):
        raise UserError(f"{name} runs through transformers, which has no {kernel}: take --dtype auto.")
    try:
        model.pack(kernel, exact=True)
    except RuntimeError as error:
        raise UserError(f"{name} cannot run in {kernel}: {error}. Take --dtype auto.") from None
    return model


def _find(pair: str, target: str | None, report: Progress) -> tuple[Path, str, str, dict[str, Path], dict[str, Any]]:
    """(folder, name of the pair, name of the target, drafts by method, notes)."""
    if target is not None:
        return resolve(target, report), Path(target).name, target, {}, {}
    own = {p.name: p for p in sorted((ASSETS / "smollm2").glob("*")) if (p / "config.json").exists()}
    if pair in PAIRS:
        if not own:
            raise missing(ASSETS / "smollm2")
        return embedded.ensure(report), pair, "SmolLM2-135M-Instruct (Q4_1)", own, {}
    preset = presets.get(pair)
    folder = resolve(preset.target, report, preset.target_revision)
    drafts: dict[str, Path] = {}
    if preset.draft == "assets":        # the heads alone: our draft model reads the Q4_1 embedding and no other
        drafts = {name: at for name, at in own.items() if name != "draft"}
    elif preset.draft:
        at = resolve(preset.draft, report, preset.draft_revision)
        drafts = {formats.method_of(at): at}
    return folder, pair, preset.target, drafts, {"pair": pair} | ({"note": preset.note} if preset.note else {})


def embedded_folder(pair: Pair) -> Path | None:
    """The checkpoint folder of a known pair, for comparisons with other engines."""
    return embedded.ensure() if pair.name in PAIRS else None


def load_model(folder: Path, dtype: torch.dtype, device: torch.device, holds: str = "model", name: str | None = None,
               quantize_to: str | None = None) -> Decoder | HFModel:
    """Our own decoder where it computes the model, transformers elsewhere. holds: what formats.sniff says. Raises UserError.

    A model too large for its GPU runs through transformers, spread over what there is, where accelerate is installed; else TooLarge.
    """
    name = name or readable(folder)
    read = formats.medusa.base if holds == "medusa-1.0" else weights.load_decoder
    try:
        sizes = memory.sizes(weights.plan(DecoderConfig.from_hf(weights.read_config(folder))), dtype)
        memory.need(name, sizes, dtype, device, quantize_to)
        model = read(folder, dtype, torch.device("cpu") if quantize_to else device)
    except Unsupported:
        return hf_model.load(folder, dtype, device, quantize_to)
    except memory.TooLarge:
        if holds != "model" or not hf_model.can_spread():
            raise
        return hf_model.load(folder, dtype, device, quantize_to)
    if quantize_to:
        model.notes = {"quantize": quantize.apply(model, quantize_to, device, dtype, model.head)}
    return model


def other_text(target: Text | NoText, draft: Text | NoText, name: str) -> str | None:
    """Why the draft's ids do not mean what the target's do, None where they do (padding beyond the vocabulary does not matter)."""
    if target.size is None or draft.size is None:
        return None
    i = first_difference(target, draft)
    if i is not None:
        return (f"The draft {name} speaks another vocabulary: id {i} is {draft.piece(i)!r} there and {target.piece(i)!r} in the target; "
                "--vocab intersect drafts with the tokens that both have.")
    if abs(target.size - draft.size) > max(128, target.size // 20):
        return (f"The draft {name} speaks another vocabulary: {draft.size} tokens, the target {target.size}; "
                "--vocab intersect drafts with the tokens that both have.")
    return None


def eos_ids(folder: Path, config: Any) -> tuple[int, ...]:
    """The ids that end a run, as transformers has them: generation_config.json decides alone where there is one, else `config.eos_ids`.

    Raises UserError for what is no token id.
    """
    file = folder / "generation_config.json"
    if file.exists():
        return end_ids(read_object(file).get("eos_token_id"), str(file))
    return config.eos_ids


def fingerprint(folder: Path) -> str:
    """sha256 of the weights (of all shards, in name order), a Hub snapshot's revision, or the size of what is too large to hash."""
    source = folder / "source.json"
    if source.exists():
        return read_object(source).get("model_sha256") or "unknown"
    if folder.parent.name == "snapshots":
        return folder.name
    files = formats.weight_files(folder)
    size = sum(f.stat().st_size for f in files)
    if size > HASHED:
        return f"unhashed, {size} bytes"
    total = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return total.hexdigest()
