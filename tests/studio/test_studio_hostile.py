"""Visitors who mean no good: clear refusals, never a 5xx, nothing outside the data folder."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from random import Random
from struct import pack
from zipfile import ZipFile
from zlib import crc32

import av
import pytest
from tests.data.made_clips import write_video
from tests.studio.running import RunningStudio, await_that, begin_upload, run_studio

PATHS = (
    *("../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%00", "a" * 5000, "-", "~", "CON"),
    *("%ff%fe", "é" * 40, "' OR 1=1 --", "<script>", "{id}", "\\..\\..\\x", "%2e%2e", "*"),
)
NAMES = (
    *("../../evil.mp4", "/etc/cron.d/evil", "C:\\evil.mp4", "..", ".", "\0", "a\nb.mp4", " "),
    *("clip.mp4/../../evil.mp4", "x" * 255, "%2e%2e%2fevil", "évil.mp4", "source.sqlite", "-rf"),
)


def listing(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_names_and_ids_never_become_paths(studio: RunningStudio, done: str) -> None:
    around = studio.data.parent
    before = {path for path in listing(around) if not path.is_relative_to(studio.data)}
    for name in NAMES:
        answer = studio.client.post("/api/clips", params={"name": name}, content=b"no clip")
        assert answer.status_code in (413, 415, 422), name
        assert str(studio.data) not in answer.text
    for path in PATHS:
        for part in ("", "/result", "/footage", "/events", "/heatmap?word=a", "/export/json"):
            answer = studio.client.get(f"/api/clips/{path}{part}")
            assert 400 <= answer.status_code < 500, path
        assert studio.client.delete(f"/api/clips/{path}").status_code in (404, 405, 422)
        assert studio.client.get(f"/{path}").status_code in (400, 404)
        assert studio.client.get(f"/report/{path}").status_code in (400, 404, 422)
    # Only the one clip that is kept has files.
    assert {path for path in listing(around) if not path.is_relative_to(studio.data)} == before
    kept = {job["id"] for job in studio.client.get("/api/clips").json()}
    assert {path.name for path in (studio.data / "clips").iterdir()} == kept
    assert done in kept


def hostile_files(clip: bytes, folder: Path) -> Iterator[tuple[str, bytes]]:
    random = Random(0)
    archive = BytesIO()
    with ZipFile(archive, "w") as file:
        file.writestr("../../evil.mp4", clip)
    yield "zip.mp4", archive.getvalue()
    yield "text.mp4", b"#!/bin/sh\nrm -rf /\n" * 100
    yield "page.mp4", b"<html><script>alert(1)</script>"
    yield "list.m3u8", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"
    yield "concat.mp4", b"ffconcat version 1.0\nfile /etc/passwd\n"
    yield "empty.mp4", b""
    yield "zeros.mp4", bytes(100_000)
    yield "wide.png", _declare_png(100_000, 100_000)
    yield "still.png", b"\x89PNG\r\n\x1a\n" + random.randbytes(1000)
    for cut in range(8):
        yield "cut.mp4", clip[: len(clip) * cut // 9]
    for _ in range(24):
        damaged = bytearray(clip)
        for _ in range(40):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        yield "damaged.mp4", bytes(damaged)
    yield "long.mp4", _claim_hours(folder / "long.mp4", 4)
    yield "large.mp4", _write_large(folder / "large.mp4")
    yield "fat.mp4", clip + bytes(9 * 2**20)


def test_what_is_no_good_clip_is_refused_or_captioned(
    studio: RunningStudio, clip: Path, tmp_path: Path
) -> None:
    for name, data in hostile_files(clip.read_bytes(), tmp_path):
        answer = studio.client.post("/api/clips", params={"name": name}, content=data)
        assert answer.status_code in (202, 413, 415), (name, answer.text)
        if answer.status_code == 202:
            # Damage that decoders survive is no reason to refuse; whatever comes of it is said.
            key = answer.json()["id"]
            assert studio.client.delete(f"/api/clips/{key}").status_code == 204
        elif name in ("long.mp4", "large.mp4", "fat.mp4"):
            assert answer.status_code == 413, (name, answer.text)
            assert "the limit is" in answer.json()["detail"]


def test_uploads_that_break_off_leave_nothing(studio: RunningStudio, done: str) -> None:
    before = listing(studio.data / "clips")
    for length in (0, 10, 10_000):
        begin_upload(studio.client, length).close()
    assert studio.client.get(f"/api/clips/{done}").status_code == 200
    # A request after them that also had to be received: they are over.
    studio.client.post("/api/clips", params={"name": "x"}, content=b"no clip")
    assert listing(studio.data / "clips") == before


def test_slow_uploads_take_places_in_the_queue(model: Path, clip: Path, tmp_path: Path) -> None:
    with run_studio(tmp_path / "data", model, ["--max-waiting", "2"]) as studio:
        slow = [begin_upload(studio.client, 10) for _ in range(2)]
        await_that(lambda: len(listing(tmp_path / "data" / "clips")) == 4)
        refused = studio.post(clip)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
        for line in slow:
            line.close()
        await_that(lambda: studio.post(clip).status_code == 202)


@pytest.mark.parametrize(
    "query",
    [
        *("k=0", "k=99", "k=x", "k=1e9", "k=", "diversity=-1", "diversity=nan", "diversity=inf"),
        *(
            "diversity=4",
            "sure=2",
            "sure=nan",
            "sure=-1",
            "k=1&k=2&k=x",
            "k[]=1",
            "k=%00",
            "k=9999999999999999999999",
        ),
    ],
)
def test_odd_questions_are_told_why_not(studio: RunningStudio, done: str, query: str) -> None:
    for part in ("result", "export/json"):
        answer = studio.client.get(f"/api/clips/{done}/{part}?{query}")
        assert answer.status_code in (200, 422)
    assert studio.client.get(f"/api/clips/{done}/export/exe?{query}").status_code == 422
    assert studio.client.get(f"/api/clips/{done}/heatmap?time={query[-3:]}").status_code == 422


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b"{}", b"null", b"{", b"[" * 100_000, b"\xff\xfe", b'{"captions": 7}'),
        b'{"source":"\\ud800","duration":1e999,"width":1,"height":1,"captions":[],'
        b'"model":{"name":"","version":""}}',
        b'{"source":"x","duration":NaN,"width":1,"height":1,"captions":[],'
        b'"model":{"name":"","version":""}}',
    ],
)
def test_captions_by_an_unknown_hand_are_not_believed(
    studio: RunningStudio, content: bytes
) -> None:
    assert studio.client.post("/api/results", content=content).status_code == 415


def test_only_one_of_many_deletes_wins(studio: RunningStudio, clip: Path) -> None:
    key = studio.post(clip).json()["id"]

    def delete(_: int) -> int:
        return studio.client.delete(f"/api/clips/{key}").status_code

    with ThreadPoolExecutor(12) as visitors:
        codes = sorted(visitors.map(delete, range(24)))
    assert codes == [204] + [404] * 23


def _declare_png(width: int, height: int) -> bytes:
    """The header of an enormous picture."""
    header = b"IHDR" + pack(">II", width, height) + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + pack(">I", crc32(header))


def _claim_hours(path: Path, hours: int) -> bytes:
    """Two frames, the second of which is due in so many hours."""
    return write_video(path, milliseconds=(0, hours * 3_600_000)).read_bytes()


def _write_large(path: Path) -> bytes:
    """A frame of 10,000 pixels each way."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=1)
        stream.width = stream.height = 10_000
        stream.pix_fmt = "yuvj420p"
        frame = av.VideoFrame(10_000, 10_000, "yuvj420p")
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path.read_bytes()
