"""`specscope bench`: this machine's figures, measured in one process. They are ratios wherever possible, since seconds vary with the machine."""
from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from core.checkpoints.load import Pair, embedded_folder
from core.decoding.loop import Decoding, Options
from core.measuring import costs, stats
from core.methods import registry
from core.methods.base import Proposer
from core.runs import prompts

NEW_TOKENS = 96
REPEATS = 3


def bench(pair: Pair, report: Callable[[str], None] = lambda m: None) -> dict[str, Any]:
    """Medians of interleaved runs: plain decoding against transformers' generate, a pass over k tokens, the recorder's cost, capture, memory."""
    ids = pair.text.chat(prompts.examples()["chat"], None)
    result: dict[str, Any] = {"threads": torch.get_num_threads(), "dtype": pair.target.arithmetic}
    if embedded_folder(pair) is not None:
        report("against transformers' generate")
        result |= against_transformers(pair)
    report("a pass over k tokens")
    verify = costs.passes(pair.target, (1, 2, 3, 5, 8, 16, 32), 15)
    result["pass_ms"] = {str(k): 1e3 * s for k, s in verify.items()}
    result["pass_5_over_1"] = verify[5] / verify[1]
    report("the recorder")
    result |= _recorder(pair, ids)
    report("captured against direct")
    result |= _captured(pair, ids)
    return result


def against_transformers(pair: Pair) -> dict[str, Any]:
    """Plain decoding of a known pair's target against transformers' generate in the dtype in which that is faster here."""
    from transformers import AutoModelForCausalLM
    ids = pair.text.chat(prompts.examples()["chat"], None)
    prompt = torch.tensor([ids], device=pair.target.device)
    theirs = {dtype: AutoModelForCausalLM.from_pretrained(embedded_folder(pair), dtype=dtype).eval().to(pair.target.device)
              for dtype in (torch.float32, torch.bfloat16)}

    def generate(dtype: torch.dtype) -> None:
        with torch.inference_mode():
            theirs[dtype].generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, min_new_tokens=NEW_TOKENS,
                                   max_new_tokens=NEW_TOKENS)

    def ours() -> None:
        list(Decoding(pair.target, Proposer(), ids, Options(NEW_TOKENS, ignore_eos=True, record=False), pair.text))

    single, half = _median_seconds(lambda: generate(torch.float32), lambda: generate(torch.bfloat16), 1)
    faster = torch.float32 if single < half else torch.bfloat16
    mine, other = _median_seconds(ours, lambda: generate(faster))
    return {"plain_tokens_per_s": NEW_TOKENS / mine, "transformers_tokens_per_s": NEW_TOKENS / other, "plain_over_transformers": other / mine,
            "transformers_dtype": str(faster).removeprefix("torch.")}


def _recorder(pair: Pair, ids: list[int]) -> dict[str, Any]:
    method = registry.get("draft" if "draft" in pair.drafts else "plain")
    memory = stats.PeakMemory(pair.target.device)

    def run(record: bool) -> Callable[[], None]:
        return lambda: list(Decoding(pair.target, method.proposer(pair), ids, Options(NEW_TOKENS, ignore_eos=True, record=record), pair.text))

    on, off = _median_seconds(run(True), run(False), REPEATS + 2)
    return {"recorder_method": method.name, "recorder_share": on / off - 1, "peak_memory_bytes": memory.bytes()}


def _captured(pair: Pair, ids: list[int]) -> dict[str, Any]:
    """A captured round (core.models.graphs; on a CPU with static buffers) against a direct one. Seconds per round, not per run: in
    bf16 the two runs may write different texts, which take different numbers of rounds."""
    method = registry.get("draft" if "draft" in pair.drafts else "plain")
    rounds: dict[bool, int] = {}

    def run(graphs: bool) -> Callable[[], None]:
        options = Options(NEW_TOKENS, ignore_eos=True, record=False, graphs=graphs)

        def act() -> None:
            rounds[graphs] = len(list(Decoding(pair.target, method.proposer(pair), ids, options, pair.text)))

        return act

    on, off = _median_seconds(run(True), run(False), REPEATS + 2)
    return {"captured_method": method.name, "captured_over_direct": on / rounds[True] / (off / rounds[False])}


def _median_seconds(a: Callable[[], Any], b: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, float]:
    """Median seconds of a and of b, run in turns after a warm-up of both."""
    times: tuple[list[float], list[float]] = ([], [])
    for n in range(repeats + 1):
        for act, spent in zip((a, b), times):
            gc.collect()
            start = time.perf_counter()
            act()
            if n:
                spent.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def table(result: dict[str, Any]) -> str:
    """The result of `bench` as text."""
    lines = [f"{result['threads']} threads, {result['dtype']}"]
    if "plain_over_transformers" in result:
        lines.append(f"plain decoding {result['plain_tokens_per_s']:.1f} tokens/s, transformers' generate {result['transformers_tokens_per_s']:.1f} "
                     f"in {result['transformers_dtype']}: "
                     f"{result['plain_over_transformers']:.2f}x")
    lines.append("one target pass over k tokens: " + ", ".join(f"k={k} {ms:.1f} ms" for k, ms in result["pass_ms"].items()))
    lines.append(f"verifying 5 tokens costs {result['pass_5_over_1']:.2f}x of verifying 1")
    lines.append(f"recording the trace ({result['recorder_method']}) costs {result['recorder_share']:+.1%}")
    lines.append(f"through captured functions ({result['captured_method']}) a round takes {result['captured_over_direct']:.2f}x of direct calls")
    if result["peak_memory_bytes"]:
        lines.append(f"peak memory {result['peak_memory_bytes'] / 2 ** 20:.0f} MiB")
    return "\n".join(lines)
