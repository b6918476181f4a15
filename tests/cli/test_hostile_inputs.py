"""Inputs made to cost much, through the real command line: one line each, in little memory."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.data.made_clips import write_folder, write_shard, write_video
from tests.models.small_world import TAGS, make_model

from densevidcap.cli import main
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.model_folder import CARD, WEIGHTS, hash_file

SECONDS = 60
"""Against a hang; each takes a second or two."""


Run = Callable[..., tuple[object, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line: exit code, and all that it says on stderr."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"over {SECONDS} s")

    def run(*arguments: str | Path) -> tuple[object, str]:
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        monkeypatch.setattr(sys, "argv", ["densevidcap", *map(str, arguments)])
        before = signal.signal(signal.SIGALRM, give_up)
        signal.alarm(SECONDS)
        try:
            with pytest.raises(SystemExit) as stopped:
                main()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        said = capsys.readouterr().err
        assert said.count("\n") <= 1, said
        return stopped.value.code, said

    return run


def write_huge_gif(path: Path, side: int = 8192, frames: int = 30) -> Path:
    """A screen of that size, of which each frame paints one pixel."""
    data = b"GIF89a" + struct.pack("<HHBBB", side, side, 0x80, 0, 0) + bytes([0] * 3 + [255] * 3)
    for index in range(frames):
        data += b"\x21\xf9\x04\x04\x0a\x00\x00\x00"
        data += b"\x2c" + struct.pack("<HHHHB", index, index, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    path.write_bytes(data + b"\x3b")
    return path


def caption_with_memory(clip: Path) -> tuple[int, int, str]:
    """Exit code, the most memory that was held in kilobytes, and the one line that was told."""
    # From a small process: what a child has used at most begins with what its parent holds.
    code = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    command = [sys.executable, "-m", "densevidcap", "caption", str(clip)]
    finished = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    (line,) = finished.stderr.splitlines()
    exit_code, used = map(int, finished.stdout.split())
    return exit_code, used, line


def test_a_gif_of_a_huge_screen_takes_little_memory(tmp_path: Path) -> None:
    gif = write_huge_gif(tmp_path / "huge.gif")
    assert gif.stat().st_size < 720
    broken = tmp_path / "broken.gif"
    broken.write_bytes(b"no picture")
    # What torch itself takes depends on how it was built.
    _, usual, _ = caption_with_memory(broken)
    exit_code, used, line = caption_with_memory(gif)
    assert exit_code == 1
    assert "huge.gif: 8192 x 8192 pixels" in line
    assert "DENSEVIDCAP_MAX_FRAME_BYTES=268435456" in line
    assert used < usual + 100_000, "kilobytes"


def test_the_environment_moves_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    gif = write_huge_gif(tmp_path / "small.gif", side=64, frames=3)
    assert run("frames", gif)[0] == 0
    monkeypatch.setenv("DENSEVIDCAP_MAX_FRAME_BYTES", "16383")
    code, line = run("frames", gif)
    assert code == 1
    assert "small.gif: 64 x 64 pixels: 16,384 is over max_frame_bytes = 16,383" in line
    monkeypatch.setenv("DENSEVIDCAP_MAX_FRAMES", "many")
    code, line = run("frames", gif)
    assert code == 1
    assert line == "densevidcap: DENSEVIDCAP_MAX_FRAMES=many: must be a whole number above 0\n"


def test_a_playlist_is_no_video(tmp_path: Path, run: Run) -> None:
    """A live one, whose reader would wait for more of it."""
    write_video(tmp_path / "part.ts", 3)
    (tmp_path / "live.m3u8").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:1,\npart.ts\n")
    code, line = run("frames", tmp_path / "live.m3u8")
    assert code == 1
    assert "live.m3u8: cannot be read as a video" in line


def make_pipe(path: Path) -> str:
    os.mkfifo(path)
    return f"frames {path}"


def make_socket(path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return f"frames {path}"


def link_device(path: Path) -> str:
    path.symlink_to("/dev/zero")
    return f"frames {path}"


def put_pipe_among_frames(path: Path) -> str:
    os.mkfifo(write_folder(path, 3) / "frame1a.png")
    return f"frames {path}"


def put_pipe_among_shards(path: Path) -> str:
    path.mkdir()
    os.mkfifo(path / "train.tar")
    return f"prepare msrvtt --shards {path} --out {path}.jsonl"


def name_pipe_as_manifest(path: Path) -> str:
    os.mkfifo(path.with_suffix(".jsonl"))
    return f"caption {path.with_suffix('.jsonl')}"


def name_device_as_annotations(path: Path) -> str:
    return f"prepare msrvtt --annotations /dev/zero --out {path}.jsonl"


def put_pipe_as_card(path: Path) -> str:
    path.mkdir()
    os.mkfifo(path / CARD)
    return f"words talk.mp4 --model {path}"


@pytest.mark.parametrize(
    "make",
    [
        make_pipe,
        make_socket,
        link_device,
        put_pipe_among_frames,
        put_pipe_among_shards,
        name_pipe_as_manifest,
        name_device_as_annotations,
        put_pipe_as_card,
    ],
)
def test_what_is_no_plain_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], str], run: Run
) -> None:
    # Relative, since the name of a socket must be short.
    monkeypatch.chdir(tmp_path)
    write_video(Path("talk.mp4"), 3)
    code, line = run(*make(Path("odd")).split())
    assert code == 1
    assert "pipe, socket or device" in line


def header(name: str = "a.jpg", kind: bytes = b"0", size: bytes = b"0") -> bytes:
    block = bytearray(512)
    block[:100] = name.encode()[:100].ljust(100, b"\0")
    block[100:124] = b"0000644\0" + b"0000000\0" + b"0000000\0"
    block[124:136] = size.rjust(11, b"0") + b"\0" if len(size) < 12 else size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = b"ustar\x0000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def extended(text: bytes, kind: bytes = b"x") -> bytes:
    return header("pax", kind, b"%o" % len(text)) + text.ljust(-(-len(text) // 512) * 512, b"\0")


def record(key: bytes, value: bytes) -> bytes:
    length = len(key) + len(value) + 3
    while length != len(key) + len(value) + 3 + len(str(length)):
        length = len(key) + len(value) + 3 + len(str(length))
    return b"%d %s=%s\n" % (length, key, value)


HEADERS = {
    "a size below 0": header() + header("b.jpg", size=b"\xff" * 12),
    "a told size below 0": extended(record(b"size", b"-1024")) + header() + header("b.jpg"),
    "digits without end": extended(b"1" * 15_000) + header(),
    "a name of digits": extended(record(b"path", b"7" * 900 + b"/" + b"7" * 5000)) + header(),
    "a name of many folders": extended(record(b"path", b"a/" * 7000 + b"a.jpg")) + header(),
    "headers of headers": extended(record(b"comment", b"x")) * 2000 + header(),
    "a header of megabytes": extended(b"x" * 2**20) + header(),
    "a long name of megabytes": extended(b"x" * 2**20, b"L") + header(),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_hostile_shard_is_one_line(tmp_path: Path, kind: str, run: Run) -> None:
    shard = tmp_path / "train.tar"
    shard.write_bytes(HEADERS[kind] + bytes(1024))
    code, line = run("frames", f"{shard}::a")
    assert code == 1
    assert f"{shard}: cannot be read as a tar shard (" in line


def test_a_shard_with_long_names_is_read(tmp_path: Path, run: Run) -> None:
    clip = write_video(tmp_path / "clip.mp4", 3).read_bytes()
    name = "videos/" + "9" * 150
    shard = write_shard(tmp_path / "train.tar", {f"{name}.mp4": clip})
    with tarfile.open(shard) as tar:
        assert tar.getnames() == [f"{name}.mp4"]
    assert run("frames", f"{shard}::{name}", "--json")[0] == 0


DEEP = "[" * 100_000 + "]" * 100_000
HALF = r'{"id": "a\ud800", "captions": ["a dog"], "split": "train", "source": "a.mp4"}'
TEXTS = {
    "a deep manifest": ("deep.jsonl", DEEP, "lexicon --captions {} --out out.json"),
    "a deep line": ("deep.jsonl", '{"id": ' + DEEP + "}", "caption {}"),
    "half a character": ("half.jsonl", HALF, "caption {}"),
    "half a character in a table": ("half.jsonl", HALF, "prepare table {} --out out.jsonl"),
    "deep annotations": ("deep.json", DEEP, "prepare msrvtt --annotations {} --out out.jsonl"),
    "deep predictions": ("deep.json", DEEP, "evaluate --predictions {0} --references {0}"),
    "just too deep": ("deep.json", "[" * 102 + "]" * 102, "lexicon --captions {} --out out.json"),
    "a number of digits": ("long.json", "9" * 5000, "lexicon --captions {} --out out.json"),
    "deep card": ("model/card.json", DEEP, "words talk.mp4 --model model"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_hostile_json_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, run: Run
) -> None:
    name, text, command = TEXTS[kind]
    monkeypatch.chdir(tmp_path)
    write_video(Path("talk.mp4"), 3)
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
    code, line = run(*command.format(name).split())
    assert code == 1
    assert name in line


@pytest.fixture
def model(tmp_path: Path) -> Path:
    entries = (LexiconEntry(word, 99 - n, 1, pos) for n, (word, pos) in enumerate(TAGS.items()))
    make_model(Lexicon(entries)).save(tmp_path / "model", {"licence": "Apache-2.0"})
    return tmp_path / "model"


def test_weights_that_are_no_numbers_are_one_line(model: Path, tmp_path: Path, run: Run) -> None:
    tensors = load_file(model / WEIGHTS)
    tensors["head.words.bias"][0] = torch.nan
    save_file(tensors, model / WEIGHTS)
    card = json.loads((model / CARD).read_text())
    card["files"][WEIGHTS] = hash_file(model / WEIGHTS)
    (model / CARD).write_text(json.dumps(card))
    code, line = run("words", write_video(tmp_path / "talk.mp4", 3), "--model", model)
    assert code == 1
    assert "'head.words.bias' holds values that are no numbers" in line


@pytest.mark.parametrize(
    ("part", "option", "value"),
    [("eyes", "size", 10**6), ("eyes", "size", "large"), ("words", "hidden", 10**9)],
)
def test_a_card_that_claims_too_much_is_one_line(
    model: Path, tmp_path: Path, part: str, option: str, value: object, run: Run
) -> None:
    card = json.loads((model / CARD).read_text())
    card[part][option] = value
    (model / CARD).write_text(json.dumps(card))
    code, line = run("words", write_video(tmp_path / "talk.mp4", 3), "--model", model)
    assert code == 1
    assert f"{model}: card and weights do not fit (" in line
