"""One run of `specscope train`: texts -> cached features -> training -> a draft in its published format."""
from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from core.checkpoints import arithmetic, embedded, load, weights
from core.checkpoints.draft_format import fingerprint
from core.errors import EnvironmentFailure, UserError
from core.models.decoder import Decoder
from core.models.text import NoText, Text
from core.train import data, generate, held_out, loop, prompts, vocabulary
from core.train.batches import Texts
from core.train.cache import MOST_ROWS, FeatureCache

FIT_TEXTS = 192         # texts on which a draft's initial weights are fitted
# by kind: size of the output vocabulary, MLP neurons of a layer
DEFAULTS = {"draft": (6000, 640), "eagle": (6000, 1024), "medusa": (6000, 0)}
# by kind: optimizer of the matrices, peak learning rate of the rest. For EAGLE, Muon takes a third of a step and undoes its fitted start
OPTIMIZERS = {"draft": ("muon", 1e-3), "eagle": ("adamw", 5e-4), "medusa": ("muon", 1e-3)}
MATRIX_LR = {"muon": 0.02, "adamw": 4e-4}


@dataclass
class Plan:
    """What a run needs: the target, its texts with features, the draft's vocabulary."""
    args: argparse.Namespace
    target: Decoder
    text: Text | NoText
    texts: Texts
    token_ids: Tensor
    aux_layers: list[int]   # layers of the cached hidden states, in their order; the last is the target's output
    facts: dict[str, Any]   # for training.json


def run(args: argparse.Namespace) -> int:
    """Returns the exit code. Raises UserError for options or files that cannot be used, EnvironmentFailure for memory and disk."""
    if not args.data and not args.generate:
        raise UserError("Training needs text: give --data FILE …, or --generate N to let the target write N texts first.")
    if (Path(args.out) / "checkpoint.pt").exists() and not args.resume:
        raise UserError(f"{args.out} holds a checkpoint already: add --resume to go on from it, or choose another --out.")
    try:
        plan = _prepare(args)
        objective = OBJECTIVES[args.kind](plan)
        held = held_out.prepare(plan.texts, plan.target, plan.token_ids, positions=4000, size=8)
        optimizer, rate = args.optimizer or OPTIMIZERS[args.kind][0], args.rest_lr or OPTIMIZERS[args.kind][1]
        options = loop.Options(tokens=args.tokens, batch=args.batch, optimizer=optimizer, matrix_lr=args.matrix_lr or MATRIX_LR[optimizer],
                               rest_lr=rate, tv=args.tv, seed=args.seed, measure_every=args.measure_every)
        record = loop.train(objective, plan.texts, held, options, Path(args.out), resume=args.resume, facts=plan.facts)
    except torch.OutOfMemoryError:
        raise EnvironmentFailure("Not enough memory on the device: take a smaller --batch.") from None
    except OSError as error:
        reason = f"{error.filename or args.out}: {error.strerror or error}"
        raise EnvironmentFailure(f"{reason}. Training goes on from its last checkpoint with --resume.") from None
    print(summary(args, record))
    return 130 if record["interrupted"] else 0


def summary(args: argparse.Namespace, record: dict) -> str:
    """The result in one line."""
    last = record["curve"][-1] if record["curve"] else None
    state = "Interrupted; go on with --resume." if record["interrupted"] else "Done."
    if last is None:
        return f"{state} {args.out}: {record['tokens_seen']:,} tokens seen, nothing held out to measure."
    return (f"{state} {args.out}: {record['tokens_seen']:,} tokens seen. Held out, {last['positions']} positions: "
            f"argmax agreement {' '.join(f'{v:.3f}' for v in last['agree_by_position'])}, "
            f"sum min(p,q) at T=1 {' '.join(f'{v:.3f}' for v in last['overlap_by_position'])} by position.")


def _prepare(args: argparse.Namespace) -> Plan:
    if (args.vocab_size or 0) > MOST_ROWS:
        raise UserError(f"--vocab-size can be at most {MOST_ROWS}, not {args.vocab_size}.")
    out, device = Path(args.out), load.pick_device(args.device)
    out.mkdir(parents=True, exist_ok=True)
    folder = load.resolve(args.target, _quiet) if args.target else embedded.ensure(_quiet)
    target = weights.load_decoder(folder, torch.bfloat16, device)
    for p in target.parameters():
        p.requires_grad_(False)
    text = Text.from_folder(folder)
    asset = prompts.load()
    files = [Path(f) for f in args.data]
    eos = load.eos_ids(folder, target.config)
    if args.generate:
        files.append(_generate(args, out, folder, text, asset, eos))
    sources = [data.read(f, target.config.vocab_size) for f in files]
    aux_layers = _aux_layers(args, target.config.num_layers)
    root = Path(args.cache) if args.cache else out / "cache"
    known = _vocabulary(root / "vocabulary.json", sources, max(8000, args.vocab_size or 0), target, eos)
    caches: list[FeatureCache] = []
    for file, texts in zip(files, sources):     # the first cache may hold more layers than needed; then all get them
        caches.append(FeatureCache(root / _name(file, texts), texts, caches[0].aux_layers if caches else aux_layers, known, target))
    if len({c.aux_layers for c in caches}) > 1:
        raise UserError(f"{root} holds features of different layers for different files; choose another --cache.")
    aux_layers = [*caches[0].aux_layers]
    _fill(caches, folder, device)
    size = args.vocab_size or DEFAULTS[args.kind][0]
    if args.resume:
        token_ids = loop.saved_token_ids(out)
    else:
        token_ids = known if size >= len(known) else vocabulary.choose(sources[0], size, target.config.vocab_size, eos, known)
    decode = None if isinstance(text, NoText) else text.decode
    held = [data.split(t, asset.held_out_topics, decode) for t in sources]
    facts = {"kind": args.kind, "target": fingerprint(target.embed), "data": data.sha256(files), "texts": sum(map(len, sources)),
             "torch": torch.__version__}
    return Plan(args, target, text, Texts(caches, held, token_ids, device), token_ids, [*aux_layers, target.config.num_layers], facts)


def _quiet(message: str, share: float | None, phase: str = "loading") -> None:
    """No progress messages: loading is short, compared with training."""


def _aux_layers(args: argparse.Namespace, layers: int) -> list[int]:
    aux_layers = args.aux_layers or sorted({min(2, layers - 1), layers // 2, layers - 1})
    if not all(0 <= t < layers for t in aux_layers) or sorted(set(aux_layers)) != aux_layers:
        raise UserError(f"--aux-layers must be rising layer numbers from 0 to {layers - 1}, not {','.join(map(str, aux_layers))}.")
    return aux_layers


def _name(file: Path, texts: list[data.Text]) -> str:
    return f"{file.name.split('.')[0]}-{len(texts)}"


def _fast(folder: Path, device: torch.device) -> Decoder:
    """The target once more, packed for this CPU. From packed weights no draft could be made."""
    return arithmetic.apply(weights.load_decoder(folder, torch.bfloat16, device), "bfloat16")


def _generate(args: argparse.Namespace, out: Path, folder: Path, text: Text | NoText, asset: prompts.Prompts, eos: tuple[int, ...]) -> Path:
    import tqdm
    if isinstance(text, NoText):
        raise UserError("This target has no tokenizer, so it cannot be given prompts: give --data FILE.")
    if args.generate > len(asset):
        raise UserError(f"--generate can be at most {len(asset)}, the number of distinct prompts in {prompts.FILE.name}.")
    path = out / "generated.jsonl"
    asked = [text.chat(p, None) for p in asset.choose(args.generate, args.seed)]
    with tqdm.tqdm(total=len(asked), unit="text", desc="writing") as bar:
        generate.generate(_fast(folder, load.pick_device(args.device)), asked, path, eos, args.seed, progress=bar.update)
    return path


def _vocabulary(path: Path, sources: list[list[data.Text]], size: int, target: Decoder, eos: tuple[int, ...]) -> Tensor:
    """The vocabulary of the caches: chosen for the first texts and then kept, so that cached features serve later runs."""
    if not path.exists():
        ids = vocabulary.choose((t for texts in sources for t in texts), size, target.config.vocab_size, eos)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".new").write_text(json.dumps(ids.tolist()), encoding="utf-8")
        os.replace(path.with_suffix(".new"), path)
    return torch.tensor(json.loads(path.read_text(encoding="utf-8")), dtype=torch.int64)


def _fill(caches: list[FeatureCache], folder: Path, device: torch.device) -> None:
    """Compute the features that are missing."""
    import tqdm
    if all(c.done == len(c.texts) for c in caches):
        return
    fast = _fast(folder, device)
    total, done = sum(int(c.starts[-1]) for c in caches), sum(int(c.starts[c.done]) for c in caches)
    with tqdm.tqdm(total=total, initial=done, unit="tok", desc="features") as bar:
        for cache in caches:
            cache.fill(fast, bar.update)


def _draft(plan: Plan) -> nn.Module:
    from core.train.draft import DraftObjective
    from core.train.start import draft_from_target
    layers = plan.args.layers
    if not all(0 <= i < plan.target.config.num_layers for i in layers):
        raise UserError(f"--layers must be from 0 to {plan.target.config.num_layers - 1}, not {','.join(map(str, layers))}.")
    fit = _fit_batches(plan)
    sample = fit[0].ids
    objective = DraftObjective(draft_from_target(plan.target, layers, plan.args.neurons or DEFAULTS["draft"][1], plan.token_ids, sample),
                               plan.token_ids, plan.target)
    objective.calibrate(fit, plan.target)
    return objective


def _eagle(plan: Plan) -> nn.Module:
    from core.train.eagle import EagleObjective
    from core.train.start_eagle import eagle_from_target
    aux_layers = _aux_layers(plan.args, plan.target.config.num_layers)
    fit = _fit_batches(plan)
    columns, neurons = [plan.aux_layers.index(t) for t in aux_layers], plan.args.neurons or DEFAULTS["eagle"][1]
    head = eagle_from_target(plan.target, columns, neurons, plan.token_ids, fit)
    objective = EagleObjective(head, plan.token_ids, plan.target, aux_layers, plan.aux_layers)
    objective.calibrate(fit, plan.target)
    return objective


def _medusa(plan: Plan) -> nn.Module:
    from core.train.medusa import MedusaObjective
    return MedusaObjective(plan.target, plan.token_ids, plan.args.heads)


def _fit_batches(plan: Plan) -> list:
    some = plan.texts.training[:8 if plan.args.resume else FIT_TEXTS]       # the checkpoint of a resumed run replaces what is fitted here
    if not some:
        raise UserError("Every text is held out: there is nothing to train on. Give more data.")
    return [plan.texts.batch(some[i:i + 8]) for i in range(0, len(some), 8)]


OBJECTIVES: dict[str, Callable[[Plan], nn.Module]] = {"draft": _draft, "eagle": _eagle, "medusa": _medusa}
