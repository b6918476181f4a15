"""Subtitles, read back by FFmpeg and by a WebVTT reader."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import av
import pytest
import webvtt
from hypothesis import given
from tests.export.made_captions import dense_captions, films, make_caption, make_captions

from densevidcap.data.text import one_line
from densevidcap.export import save
from densevidcap.export.subtitles import (
    WORD_JOINER,
    render_chapters_srt,
    render_chapters_txt,
    render_chapters_vtt,
    render_srt,
    render_vtt,
)
from densevidcap.pipeline.outline import list_chapters
from densevidcap.types import DenseCaptions

HOSTILE = [
    "<b>bold</b> & <i>more",
    "1\n00:00:00,000 --> 00:00:09,000\nforged",
    "{\\an8}{b}top <font color=red>red</font>",
    "\n\nNOTE hidden\n\nSTYLE",
    "a --> b \x00 \x1b[31m \ud800 \u2028 &lt;",
]


@pytest.mark.parametrize("ending", ["vtt", "srt"])
def test_ffmpeg_reads_the_cues_in_time_order(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"clip.{ending}"
    save(make_captions("clip.mp4"), path)
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux() if packet.size]
    texts = [bytes(packet).decode() for packet in packets]
    assert texts == ["a dog runs over the grass", "a man watches", "a ball lies there"]
    spans = [
        (packet.pts * packet.time_base, packet.duration * packet.time_base) for packet in packets
    ]
    assert spans == [(0, 4), (0, 4), (2, 1)]


def test_a_cue_is_named_by_its_rank_and_keeps_its_row() -> None:
    late, early = make_caption("late", 2.0, 4.0, (2.5,), (0,)), make_caption("early", 0.0, 4.0)
    blocks = render_vtt(make_captions("clip.mp4", late, early)).strip().split("\n\n")
    assert blocks == [
        "WEBVTT",
        "2\n00:00:00.000 --> 00:00:04.000 line:-2\nearly",
        "1\n00:00:02.000 --> 00:00:04.000 line:-1\nlate",
    ]


@pytest.mark.parametrize("ending", ["vtt", "srt"])
@pytest.mark.parametrize("text", HOSTILE)
def test_ffmpeg_takes_nothing_of_a_sentence_for_markup(
    tmp_path: Path, ending: str, text: str
) -> None:
    path = tmp_path / f"clip.{ending}"
    save(make_captions("clip.mp4", make_caption(text), make_caption("the next")), path)
    with av.open(str(path)) as container:
        said = [
            # Eight fields, then the text, in which FFmpeg writes \{{} for an opening brace.
            event.ass.decode().split(",", 8)[8].replace(r"\{{}", "{")
            for packet in container.demux()
            if packet.size
            for event in packet.decode()
        ]
    assert [each.replace(WORD_JOINER, "") for each in said] == [one_line(text), "the next"]


@given(dense_captions)
def test_webvtt_comes_back_whatever_is_said(made: DenseCaptions) -> None:
    cues = webvtt.from_buffer(io.StringIO(render_vtt(made))).captions
    ranks = [int(cue.identifier or 0) for cue in cues]
    assert sorted(ranks) == list(range(1, len(made) + 1))
    assert [cue.start for cue in cues] == sorted(cue.start for cue in cues)
    for rank, cue in zip(ranks, cues, strict=True):
        caption = made[rank - 1]
        assert html.unescape(cue.raw_text) == one_line(caption.text)
        assert cue.start < cue.end
        assert cue.start_in_seconds == int(caption.start + 5e-4)


@given(dense_captions)
def test_subrip_has_three_lines_a_cue_whatever_is_said(made: DenseCaptions) -> None:
    blocks = render_srt(made).strip("\n").split("\n\n")
    time = r"\d\d:\d\d:\d\d,\d{3}"
    assert len(blocks) == len(made)
    by_time = sorted(made, key=lambda caption: caption.start)
    for count, block in enumerate(blocks, start=1):
        number, span, text = block.split("\n")
        assert number == str(count)
        assert re.fullmatch(f"{time} --> {time}", span)
        start, end = span.split(" --> ")
        assert start < end
        said = one_line(by_time[count - 1].text)
        assert text.replace(WORD_JOINER, "") == said.replace(WORD_JOINER, "")
        assert "-->" not in text


def test_an_hour_has_sixty_minutes() -> None:
    caption = make_caption("long", 3599.9996, 3661.5, (3600.0,), (0,))
    assert "01:00:00,000 --> 01:01:01,500" in render_srt(make_captions("clip.mp4", caption))


@given(films)
def test_chapters_are_what_players_take_for_chapters(made: DenseCaptions) -> None:
    """From the start to the end, one after the other, whatever their titles say."""
    titles = [one_line(chapter.title) for chapter in list_chapters(made)]
    cues = webvtt.from_buffer(io.StringIO(render_chapters_vtt(made))).captions
    assert [html.unescape(cue.raw_text) for cue in cues] == titles
    assert cues[0].start == "00:00:00.000"
    assert [cue.end for cue in cues[:-1]] == [cue.start for cue in cues[1:]]
    assert all(cue.start < cue.end for cue in cues)
    blocks = render_chapters_srt(made).strip("\n").split("\n\n")
    assert [block.split("\n")[2].replace(WORD_JOINER, "") for block in blocks] == [
        title.replace(WORD_JOINER, "") for title in titles
    ]
    lines = render_chapters_txt(made).splitlines()
    assert [line[9:] for line in lines] == titles
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d", line[:8]) for line in lines)
    assert lines[0].startswith("00:00:00 ")
