"""For all tests: one thread (the machine's cores are shared) and no network, here and in every process that a test starts."""
import gc
import os

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}

import torch

torch.set_num_threads(1)


def pytest_collection_finish(session):
    freeze()


def pytest_runtest_teardown(item, nextitem):
    if nextitem is not None and nextitem.path != item.path:
        freeze()


def freeze():
    """What is here by now stays: without this, the collection that a run asks for walks it all and takes longer than a tiny run."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session, exitstatus):
    """Where everything must run (.ci/run), a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")      # None in the processes that run the tests
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("SPECSCOPE_NO_SKIPS") and skipped and exitstatus == 0:
        session.exitstatus = 1
