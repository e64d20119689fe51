"""A Trace of many rounds: made-up runs joined one after another, with positions and times that go on from run to run."""

from __future__ import annotations

from typing import Any

from tests.spec_ui import fake_trace


def make(rounds: int = 200) -> dict[str, Any]:
    out = fake_trace.make()
    done: list[dict[str, Any]] = []
    seed = 1
    while len(done) < rounds:
        clock, tokens = (done[-1]["elapsed_s"], done[-1]["start"] + len(done[-1]["emitted"])) if done else (0.0, 0)
        more = fake_trace.make(seed=seed)["rounds"]
        more = [r for r in more[1 if done else 0 :] if all(e["id"] != fake_trace.EOS for e in r["emitted"])]
        first = more[0]["start"]
        for r in more[: rounds - len(done)]:
            done.append({**r, "index": len(done), "start": tokens + r["start"] - first, "elapsed_s": clock + r["elapsed_s"]})
        seed += 1
    out["rounds"] = done
    out["totals"] = fake_trace.totals(done, "length")
    out["plain"] = fake_trace.plain(out["totals"]["new_tokens"], done[0]["elapsed_s"])
    return out
