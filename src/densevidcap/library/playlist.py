"""Answers one after the other: a playlist for players, or an edit list for cutting programs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from densevidcap.data.clip import ClipInfo, open_clip
from densevidcap.data.text import one_line
from densevidcap.errors import ClipError, OutputError
from densevidcap.files import replacing
from densevidcap.library.search import Answer

PLAYERS, CUTTERS = (".m3u", ".m3u8"), (".edl",)


def check_ending(path: Path) -> None:
    if path.suffix.lower() not in (*PLAYERS, *CUTTERS):
        raise OutputError(f"{path}: a playlist ends in .m3u or .m3u8, an edit list in .edl")


def write_playlist(
    path: Path, title: str, answers: Sequence[Answer], overwrite: bool = False
) -> list[ClipError]:
    """In the form that the path's ending tells; what was left out, and why."""
    check_ending(path)
    missing: list[ClipError] = []
    if path.suffix.lower() in CUTTERS:
        lines = _list_edits(title, answers, missing)
    else:
        lines = _list_items(answers)
    with replacing(path, overwrite) as temporary:
        text = "\n".join(lines) + "\n"
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
    return missing


def _list_items(answers: Sequence[Answer]) -> list[str]:
    """VLC and its like take start and end from the options before each path."""
    lines = ["#EXTM3U"]
    for answer in answers:
        lines += [
            f"#EXTINF:{answer.end - answer.start:.0f},{one_line(answer.name)}: {_name(answer)}",
            f"#EXTVLCOPT:start-time={answer.start:.3f}",
            f"#EXTVLCOPT:stop-time={answer.end:.3f}",
            answer.clip,
        ]
    return lines


def _list_edits(title: str, answers: Sequence[Answer], missing: list[ClipError]) -> list[str]:
    """CMX 3600: each answer as a cut, whose source is counted in the frames of its own clip.

    The film that they make is counted in those of the first clip. A clip of another rate has a
    line (M2) that says how fast it plays.
    """
    lines = [f"TITLE: {_plain(title)[:70]}", "FCM: NON-DROP FRAME", ""]
    film_rate: Fraction | None = None
    done = Fraction(0)
    number = 0
    for answer in answers:
        try:
            info = open_clip(answer.clip).info
        except ClipError as error:
            missing.append(error)
            continue
        rate = _count_rate(info)
        film_rate = film_rate or rate
        number += 1
        first = round(Fraction(answer.start) * rate)
        last = max(first + 1, round(Fraction(answer.end) * rate))
        begin = round(done * film_rate)
        done += (last - first) / rate
        end = max(begin + 1, round(done * film_rate))
        codes = (
            *(name_frame(frame, rate) for frame in (first, last)),
            *(name_frame(frame, film_rate) for frame in (begin, end)),
        )
        tracks = "AA/V" if info.has_sound else "V"
        lines.append(f"{number:03}  AX       {tracks:5} C        {' '.join(codes)}")
        if rate != film_rate:
            lines.append(f"M2   AX       {float(rate):05.1f}                {codes[0]}")
        lines += [
            f"* FROM CLIP NAME: {_plain(Path(answer.clip).name)}",
            f"* SOURCE FILE: {one_line(answer.clip)}",
            f"* COMMENT: {_name(answer)}",
            "",
        ]
    return lines


def _count_rate(info: ClipInfo) -> Fraction:
    """Frames a second, one of those that television and film know if it is nearly that."""
    rate = Fraction(info.frame_rate or 1)
    known = [Fraction(n * 1000, d) for n in (24, 30, 48, 60, 120) for d in (1000, 1001)]
    near = min(known, key=lambda each: abs(each - rate))
    if abs(near / rate - 1) < Fraction(2, 10_000):
        return near
    return Fraction(max(1, round(rate))) if abs(rate - round(rate)) < Fraction(1, 50) else rate


def name_frame(frame: int, rate: Fraction) -> str:
    """hh:mm:ss:ff without dropped numbers: 29.97 frames a second are counted as 30."""
    base = max(1, round(rate))
    seconds, rest = divmod(frame, base)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02}:{minute:02}:{second:02}:{rest:02}"


def _name(answer: Answer) -> str:
    return one_line(answer.sentence or " ".join(word for word, _ in answer.words))


def _plain(text: str) -> str:
    """In the letters that old readers take."""
    return one_line(text).encode("ascii", "replace").decode()
