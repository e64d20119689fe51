"""Libraries that nothing here needs: their tests are there only where they are, since .ci/run takes a skip for a failure."""
from importlib import util

import torch

collect_ignore = [f"test_with_{name}.py" for name in ("accelerate", "bitsandbytes", "torchao") if util.find_spec(name) is None]
if util.find_spec("spaces") is None or torch.version.cuda is None or torch.cuda.is_available():     # it imports with a CUDA build alone
    collect_ignore.append("test_with_spaces.py")
