"""The report as a browser's parser sees it."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

import av
import numpy as np
import pytest
from hypothesis import given
from PIL import Image
from tests.data.made_clips import tone, write_folder, write_gif, write_video
from tests.export.made_captions import films, make_caption, make_captions, texts

from densevidcap.data.clip import open_clip
from densevidcap.data.text import one_line
from densevidcap.errors import OutputError
from densevidcap.export import save
from densevidcap.export.report import footage, render_page
from densevidcap.export.report.footage import EMBEDDED
from densevidcap.types import DenseCaptions


class Page(HTMLParser):
    """Tags with their attributes, and the text inside each class or tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("class") or tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._inside, []).append(data)

    def attribute(self, tag: str, name: str) -> str:
        return next(attrs[name] or "" for each, attrs in self.tags if each == tag)


PLAIN = Page(render_page(make_captions("clip.mp4"), "clip.mp4"))


@given(texts, texts)
def test_no_sentence_or_name_becomes_markup(sentence: str, name: str) -> None:
    made = make_captions(f"{name}.mp4", *[make_caption(sentence)] * 3)
    page = Page(render_page(made, "clip.mp4"))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in PLAIN.tags]
    assert page.texts["text"] == [one_line(sentence)] * 3
    assert page.texts["h1"] == [one_line(Path(made.source).name)]


def test_words_of_evidence_are_text_too() -> None:
    hostile = '"><script>alert(1)</script>'
    page = render_page(make_captions("$name ${x}.mp4", make_caption(hostile)), hostile)
    assert "<script>alert" not in page
    assert Page(page).attribute("video", "src") == hostile
    assert Page(page).texts["h1"] == ["$name ${x}.mp4"]


def test_only_our_script_may_run_and_nothing_is_fetched() -> None:
    page = render_page(make_captions("clip.mp4"), "clip.mp4")
    *_, script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    (policy,) = (tags["content"] for _, tags in PLAIN.tags if "http-equiv" in tags)
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"https?://|//[a-z]", page.replace(script, ""))
    assert {tag for tag, attributes in PLAIN.tags if "src" in attributes} == {"video"}


def test_sentences_stand_in_their_rank_with_evidence_and_times() -> None:
    made = make_captions("clip.mp4")
    assert PLAIN.texts["text"] == [caption.text for caption in made]
    assert PLAIN.texts["rank"] == ["1", "2", "3"]
    assert PLAIN.texts["missing"] == ["not seen in its region: grass"] * 3
    times = [tags["data-time"] for _, tags in PLAIN.tags if tags.get("class") == "word"]
    assert times == ["0.5", "0.5", "2.5"]


def test_what_is_heard_is_drawn_below_the_timeline(tmp_path: Path) -> None:
    """A tone in the second half: bright there, dark before."""
    loud = write_video(tmp_path / "loud.mp4", sounds=[tone(2.0)], sound_delay=2.0)
    mute = write_video(tmp_path / "mute.mp4")
    for clip in (loud, mute):
        save(make_captions(clip), clip.with_suffix(".html"))
    head, _, content = (
        Page((tmp_path / "loud.html").read_text()).attribute("img", "src").partition(",")
    )
    assert head == "data:image/png;base64"
    picture = np.asarray(Image.open(BytesIO(b64decode(content))).convert("L"), float)
    before, after = np.array_split(picture.max(axis=0), 2)
    assert after[100:-100].min() > before[:-100].max() + 50
    assert "img" not in {tag for tag, _ in Page((tmp_path / "mute.html").read_text()).tags}


def test_sound_that_is_too_long_leaves_the_page_without_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = write_video(tmp_path / "loud.mp4", sounds=[tone(2.0)])
    monkeypatch.setenv("DENSEVIDCAP_MAX_SOUND_BYTES", "5000")
    save(make_captions(clip), tmp_path / "loud.html")
    assert "img" not in {tag for tag, _ in Page((tmp_path / "loud.html").read_text()).tags}


def test_a_page_without_captions_is_a_page(tmp_path: Path) -> None:
    made = make_captions(write_video(tmp_path / "talk.mp4", 4))
    save(type(made)(**{**vars(made), "captions": ()}), tmp_path / "talk.html")
    assert "text" not in Page((tmp_path / "talk.html").read_text()).texts


def test_a_small_video_that_browsers_play_is_inside_the_page(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "talk.mp4")
    save(make_captions(clip), tmp_path / "talk.html")
    head, data = _footage(tmp_path / "talk.html").split(",")
    assert head == "data:video/mp4;base64"
    assert b64decode(data) == clip.read_bytes()


def test_a_large_one_is_linked_whatever_its_name(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "50%: #1 & <more>.mp4")
    with clip.open("r+b") as file:
        file.truncate(EMBEDDED + 1)
    save(make_captions(clip), tmp_path / "reports" / "talk.html")
    link = _footage(tmp_path / "reports" / "talk.html")
    assert ":" not in link
    assert (tmp_path / "reports" / unquote(link)).resolve() == clip


@pytest.mark.parametrize("make", [write_gif, write_folder, write_video], ids=lambda m: m.__name__)
def test_what_browsers_do_not_play_is_made_a_film(tmp_path: Path, make: type) -> None:
    clip = make(tmp_path / ("talk.avi" if make is write_video else "talk.gif"))
    save(make_captions(clip), tmp_path / "out" / "talk.html")
    head, data = _footage(tmp_path / "out" / "talk.html").split(",")
    assert head == "data:video/mp4;base64"
    (tmp_path / "film.mp4").write_bytes(b64decode(data))
    with av.open(str(tmp_path / "film.mp4")) as film:
        # The last of pictures at one a second is shown again at its end.
        counts: dict[object, int] = {write_video: 40, write_gif: 12, write_folder: 13}
        assert sum(1 for _ in film.decode(video=0)) == counts[make]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["talk.html"]


def test_a_large_film_stands_beside_the_page_and_no_other_file_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footage, "EMBEDDED", 10)
    clip = write_video(tmp_path / "talk.avi", 4)
    strangers = tmp_path / "talk.film.mp4", tmp_path / ".talk.film.mp4.silent"
    for stranger in strangers:
        stranger.write_text("somebody's own")
    page = tmp_path / "talk.html"
    names = set()
    for _ in range(2):
        save(make_captions(clip), page, overwrite=True)
        names.add(_footage(page))
    for name in names:
        with av.open(str(tmp_path / unquote(name))) as film:
            assert sum(1 for _ in film.decode(video=0)) == 4
    assert {path.name for path in tmp_path.iterdir()} == {
        *(stranger.name for stranger in strangers),
        *("talk.avi", "talk.html", *names),
    }
    assert all(stranger.read_text() == "somebody's own" for stranger in strangers)


@pytest.mark.parametrize("ending", [".mp4", ".html"])
def test_exports_side_by_side_do_not_meet(tmp_path: Path, ending: str) -> None:
    """Of clips with sound, which take a silent film first."""
    clip = write_video(tmp_path / "talk.avi", 20, codec="mpeg4", sounds=[tone(2.0)])
    out = tmp_path / "out"
    stranger = out / f".talk{ending}.silent"
    out.mkdir()
    stranger.write_text("somebody's own")

    def export(number: int) -> bool:
        try:
            save(make_captions(clip), out / f"talk{ending}")
        except OutputError:
            return False
        return number >= 0

    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(export, range(4)))
    # One was the first, and its file is whole; the others were told.
    assert sum(done) == 1
    assert {path.name for path in out.iterdir()} == {f"talk{ending}", stranger.name}
    assert stranger.read_text() == "somebody's own"
    if ending == ".mp4":
        with av.open(str(out / "talk.mp4")) as film:
            assert sum(1 for _ in film.decode(video=0)) == 20


def _footage(path: Path) -> str:
    return Page(path.read_text()).attribute("video", "src")


def make_film(source: Path | str) -> DenseCaptions:
    """Of four seconds, in two chapters."""
    late, early = (
        make_caption("a dog barks", 2.0, 4.0, (3.0,), (0,)),
        make_caption("a man", 0.0, 2.0, (0.5,), (1,)),
    )
    spans = ((0.0, 2.0), (2.0, 4.0))
    return replace(make_captions(source, late, early), scenes=spans, chapters=spans)


def test_a_film_has_a_summary_and_chapters_that_open() -> None:
    page = Page(render_page(make_film("film.mp4"), "film.mp4"))
    parts = [attributes for tag, attributes in page.tags if tag == "details"]
    assert [(part["data-start"], part["data-end"]) for part in parts] == [
        ("0.000", "2.000"),
        ("2.000", "4.000"),
    ]
    assert not any("open" in part for part in parts)
    assert page.texts["title"][-2:] == ["A man", "A dog barks"]
    assert page.texts["when"] == [
        "00:00:00–00:00:02 · 1 sentence",
        "00:00:02–00:00:04 · 1 sentence",
    ]
    assert page.texts["text"] == ["a man", "a dog barks"]
    assert page.texts["rank"] == ["1", "2"]
    assert page.texts["summary"] == ["A man. A dog barks."]
    assert page.attribute("video", "preload") == "metadata"
    assert len([tag for tag, _ in page.tags if tag == "i"]) == 2


def test_a_chapter_has_a_picture_of_its_own(tmp_path: Path) -> None:
    """Of the frame in the middle of what it is called by, and of no use without the others."""
    clip = write_video(tmp_path / "film.mp4")
    save(make_film(clip), tmp_path / "film.html")
    page = Page((tmp_path / "film.html").read_text())
    sources = [attributes["src"] or "" for tag, attributes in page.tags if tag == "img"]
    pictures = [Image.open(BytesIO(b64decode(each.partition(",")[2]))) for each in sources]
    assert [picture.size for picture in pictures] == [(160, 120)] * 2
    frames = [image for _, image in open_clip(clip).stream((160, 120))]
    for picture, frame in zip(pictures, (frames[5], frames[30]), strict=True):
        assert np.abs(np.asarray(picture, float) - frame).mean() < 8


@given(films)
def test_every_sentence_of_a_film_is_in_its_page_once(made: DenseCaptions) -> None:
    """Also what a hand put where no chapter is; the script finds each by its number."""
    page = Page(render_page(made, "film.mp4"))
    assert sorted(page.texts["text"]) == sorted(one_line(caption.text) for caption in made)
    kinds = [(tags.get("class"), tags.get("data-caption")) for _, tags in page.tags]
    for kind in ("span", "sentence"):
        assert [n for name, n in kinds if name == kind] == [str(n) for n in range(len(made))]
