"""A ZeroGPU Space without its platform, for test_with_spaces.py to start: the real `spaces` and its forked workers; its API is a server here,
and the worker moves tensors to its own memory where it would move them to CUDA.

Prints one line of JSON. `heads` on the command line: with heads, whose toy target has no tokenizer, and nothing is run.
"""
import http.server
import json
import os
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path

CALLS, REFUSE = [], []


class Api(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query))
        CALLS.append([path, asked.get("durationSeconds"), asked.get("fail")])
        over = path == "/schedule" and REFUSE
        given = {"left": 3, "wait": 60} if over else {"idle": False, "nvidiaIndex": 0, "nvidiaUUID": "none", "allowToken": "a token"}
        body = json.dumps(given).encode() if path == "/schedule" else b""
        self.send_response(429 if over else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


tmp = Path(tempfile.mkdtemp())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {"SPACES_ZERO_GPU": "true", "SPACES_ZERO_DEVICE_API_URL": f"http://127.0.0.1:{server.server_port}", "HF_HUB_OFFLINE": "1",
               "ZEROGPU_OFFLOAD_DIR": str(tmp / "tensors")}

from core.runs import zerogpu  # noqa: E402, I001 - first, as in app.py

import spaces.zero.torch as platform  # noqa: E402
import torch  # noqa: E402
from spaces.zero.torch.patching import tensor_packs  # noqa: E402

from core import trace  # noqa: E402
from core.checkpoints import load, presets  # noqa: E402
from core.runs.engine import RunRequest  # noqa: E402
from tests.core import heads, tiny  # noqa: E402


def unpack(callback=None):
    """As spaces' own pack_to_cuda, into main memory."""
    for pack in tensor_packs:
        with open(pack.path(), "rb") as file:
            for like, size, padded in (entry for batch in pack.batches for entry in batch):
                data = torch.frombuffer(bytearray(file.read(padded)[:size]), dtype=torch.uint8)
                tensor = torch.empty(0, dtype=like.dtype).set_(data.untyped_storage(), 0, like.shape, like.stride())
                for placeholder in pack.fakes[like]:
                    placeholder.data = tensor


def tensors(thing, name, seen):
    """(name, tensor) of all that a pair reaches."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        yield name, thing
    elif isinstance(thing, (dict, list, tuple)) or type(thing).__module__.startswith(("core", "torch.nn")):
        inside = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, (list, tuple)) else vars(thing).items()
        for key, value in inside:
            yield from tensors(value, f"{name}.{key}", seen)


platform.init, platform.move = lambda uuid: None, unpack
load.resolve = lambda name, report, revision=None: tmp / name
load.ASSETS = tmp / "assets"
folder = tmp / presets.get("smollm2-hub").target
if "heads" in sys.argv:
    tiny.checkpoint(folder, vocab_size=heads.V, num_layers=heads.L, max_positions=128)
    heads.eagle3(tmp / "assets" / "smollm2" / "eagle")
    heads.medusa(tmp / "assets" / "smollm2" / "medusa")
else:
    tiny.checkpoint(folder, tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=256)
engine = zerogpu.make_engine()
found = list(tensors(engine._pair, "pair", set()))
out = {"phase": engine.state().phase, "methods": [m.name for m in engine.methods()], "tensors": len(found),
       "left": [name for name, tensor in found if tensor.device.type != "cuda"], "packed": platform.pack(), "runs": {}}


def run(**asked):
    try:
        got = trace.parse("".join(engine.stream(RunRequest("hello hello", max_new_tokens=9, **asked))))
        return [got.emitted_ids, got.plain is not None]
    except Exception as error:
        return [type(error).__name__, str(error)]


if "heads" not in sys.argv:
    out["runs"] = {name: run(method=name) for name in out["methods"]}
    out["mistake"] = run(method="lookup", temperature=-1.0)
    out["steps"] = list(engine.calibration()["draft_step_s"])
    running = engine.stream(RunRequest("hello hello", "lookup", max_new_tokens=60))
    next(running)
    running.close()
    REFUSE.append(True)
    out["refused"] = run(method="lookup")
    REFUSE.clear()
    out["again"] = run(method="lookup")
print(json.dumps(out | {"calls": CALLS}))
