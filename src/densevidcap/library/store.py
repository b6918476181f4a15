"""A library: one folder with what is known of many clips, whatever happens while it is made.

    library.json            what it is
    sources.jsonl           which file is which clip, and which files failed; lines are added
    failed.txt              the latter, for people
    clips/ab/abcd….json     a clip's result: written last, so what has one is done
    words/ab/abcd….safetensors   the words that its regions show
    corrections/ab/abcd….json    what a person put right: captioning never writes here
    removed/ab/abcd…/       what was known of a clip that a person took out, until it is forgotten
    studio/                 clips that were dropped on the studio's page, and its queue
    lexica/….json           the words that can be shown
    index.sqlite, index-….int8   made of all this for `find`, and again whenever it is missing

Clips are named by what they hold, so files may be renamed and folders moved.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os.path import lexists, normpath, relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from densevidcap.data.text_files import read_json
from densevidcap.errors import ClipError, CorpusError, OutputError
from densevidcap.export.json_file import UNSOUND, caption_from_dict, from_dict, to_dict
from densevidcap.files import WORKSPACE, hold, replacing, writing
from densevidcap.intake import parse_json
from densevidcap.types import Box, Caption, DenseCaptions

if TYPE_CHECKING:
    from densevidcap.library.search import Answer
    from densevidcap.library.shown import WordList, WordRecord

VERSION = 1
"""Raised when a reader of older libraries would misunderstand newer ones."""
CARD, SOURCES, FAILED, INDEX = "library.json", "sources.jsonl", "failed.txt", "index.sqlite"
VECTORS = "index"
"""How the names of the index's other files begin."""
STUDIO = "studio"
BUSY = "another process is writing here"
_REMOVED = "removed"
_PARTS = (("clips", ".json"), ("corrections", ".json"), ("words", ".safetensors"))
"""Of a clip: kinds of files and their endings, that by which it is done first."""


@dataclass(frozen=True)
class Source:
    """A file, folder or shard's member, and which clip it is."""

    path: str
    """Absolute."""
    name: str
    """For people: below the folder that was asked for."""
    stamp: str
    """While it is the same, so is the clip."""
    identity: str | None = None
    """None if it failed before that was known."""
    failed: str | None = None
    """The reason, or None."""
    way: str | None = None
    """From the library's folder to the path: stays right when both are moved."""


@dataclass(frozen=True)
class Entry:
    """What was said of one clip."""

    identity: str
    recipe: str
    """Of everything that can change a sentence."""
    captions: DenseCaptions
    """As the model said it, without corrections."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True)
class Correction:
    """What a person says instead of a sentence."""

    said: str
    """The sentence that is replaced; stays in force whatever a model says later."""
    caption: Caption | None
    """None if it is left out."""

    @property
    def is_approval(self) -> bool:
        """Whether a person says that the sentence is right as it is."""
        return self.caption is not None and _unify(self.caption.text) == _unify(self.said)


class Library:
    """Reading needs nothing but the folder; whoever writes holds it (`writing_alone`)."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not is_library(self.folder):
            raise CorpusError(
                f"{folder}: no library here; make one with: densevidcap caption CLIPS --library DIR"
            )
        content = read_json(self.folder / CARD)
        version = content.get("version") if isinstance(content, dict) else None
        if version != VERSION:
            raise CorpusError(
                f"{folder}: a library of version {version!s:.40}, but this reads {VERSION};"
                " update densevidcap or caption the clips again"
            )

    @classmethod
    def make(cls, folder: Path) -> Library:
        """The library of that folder, which is a new one if it is empty or not there yet."""
        if not is_library(folder):
            if lexists(folder) and (not folder.is_dir() or _has_content(folder)):
                raise OutputError(f"{folder}: is no library; name a new or empty folder for it")
            _write_json(folder / CARD, {"version": VERSION, "kind": "densevidcap library"})
        return cls(folder)

    @contextmanager
    def writing_alone(self) -> Iterator[None]:
        refusal = OutputError(f"{self.folder}: {BUSY}; wait for it, or end it")
        with hold(self.folder, refusal, tidy=False):
            self._tidy()
            self.reread()
            yield

    def _tidy(self) -> None:
        """Remove what killed writers of the library left, and nothing of those who write files of
        it: they hold nothing, and may be at work in its folder."""
        left = [each for kind, _ in _PARTS for each in self.folder.glob(f"{kind}/??/{WORKSPACE}*/")]
        for name in (CARD, FAILED):
            left += [path.parent for path in self.folder.glob(f"{WORKSPACE}*/{name}")]
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)

    def reread(self) -> None:
        """Others may have written since."""
        self.__dict__.pop("sources", None)

    # What files are which clips

    @cached_property
    def sources(self) -> dict[str, Source]:
        """By path; of each what was noted last."""
        known: dict[str, Source] = {}
        path = self.folder / SOURCES
        if not path.exists():
            return known
        with writing(path):
            lines = path.read_bytes().splitlines()
        for line in lines:
            try:
                source = Source(**parse_json(line, file_names=True))
            except (TypeError, ValueError):
                # A kill in the middle of a line costs that line.
                continue
            known.pop(source.path, None)
            known[source.path] = source
        return known

    def note(self, source: Source) -> None:
        """Add what is known of a file; nothing if it is known already."""
        source = replace(source, way=_find_way(source.path, self.folder.absolute()))
        if self.sources.get(source.path) == source:
            return
        path = self.folder / SOURCES
        # In ASCII, because names of files may hold what UTF-8 has no bytes for. A line of its own,
        # also after one that a kill cut short.
        line = "\n" + json.dumps(asdict(source)) + "\n"
        with writing(path), path.open("a", encoding="ascii") as stream:
            stream.write(line)
        self.sources.pop(source.path, None)
        self.sources[source.path] = source

    def locate(self, source: Source) -> str:
        """Where the file is by now: where it was, or the same way from the library as then.

        If there is something at both, it is what looks as the file did when it was noted.
        """
        if source.way is None:
            return source.path
        moved = name_path(self.folder / source.way)
        if moved == source.path or not _is_there(moved):
            return source.path
        if not _is_there(source.path):
            return moved
        has_moved = not _is_as_noted(source.path, source.stamp) and _is_as_noted(
            moved, source.stamp
        )
        return moved if has_moved else source.path

    def list_files(self) -> list[tuple[Source, str]]:
        """Every file whose clip is done, with its place; in the order of their names.

        Of a clip's files that are gone, the last one stands for it only if all of them are.
        """
        # A place that was noted under two paths, because all was moved, is what was noted last.
        places = {self.locate(source): source for source in self.sources.values()}
        by_clip: dict[str, list[tuple[Source, str]]] = defaultdict(list)
        done = {*self.identities()}
        for place, source in places.items():
            if source.identity is not None and source.identity in done:
                by_clip[source.identity].append((source, place))
        found: list[tuple[Source, str]] = []
        for files in by_clip.values():
            there = files if len(files) == 1 else [each for each in files if _is_there(each[1])]
            found += there or files[-1:]
        return sorted(found, key=lambda each: (each[0].name, each[1]))

    def list_failures(self) -> list[Source]:
        return [source for source in self.sources.values() if source.failed is not None]

    def write_failures(self) -> None:
        """The list for people; no file if there are none."""
        failed = self.list_failures()
        path = self.folder / FAILED
        if not failed:
            path.unlink(missing_ok=True)
            return
        with replacing(path) as temporary:
            lines = (f"{source.path}\t{source.failed}\n" for source in failed)
            temporary.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")

    # Results

    def __len__(self) -> int:
        """How many clips are done."""
        return sum(1 for _ in self.identities())

    def identities(self) -> Iterator[str]:
        yield from sorted(entry.name[:-5] for entry in self.scan("clips"))

    def scan(self, kind: str, ending: str = ".json") -> Iterator[os.DirEntry[str]]:
        """The files of that kind, of all clips: one look at a folder tells of many."""
        for part in _scan(self.folder / kind):
            if len(part.name) == 2:
                yield from (each for each in _scan(part.path) if each.name.endswith(ending))

    def place(self, kind: str, identity: str, ending: str = ".json") -> Path:
        return self.folder / kind / identity[:2] / f"{identity}{ending}"

    def is_done(self, identity: str, recipe: str | None = None) -> bool:
        """With `recipe`, only if nothing that can change a sentence is different now."""
        path = self.place("clips", identity)
        if recipe is None:
            return path.exists()
        try:
            return self.read_entry(identity).recipe == recipe
        except CorpusError:
            return False

    def write(self, entry: Entry, words: WordRecord, lexicon: WordList) -> None:
        """Keep what is known of a clip: its result last and whole, so that it is done or not."""
        listed = self.folder / "lexica" / f"{words.digest}.json"
        if not listed.exists():
            lexicon.save(listed)
        words.save(self.place("words", entry.identity, ".safetensors"))
        content = {
            "version": VERSION,
            "recipe": entry.recipe,
            "seconds": round(entry.seconds, 2),
            "result": to_dict(entry.captions),
        }
        _write_json(self.place("clips", entry.identity), content)

    def read_entry(self, identity: str) -> Entry:
        path = self.place("clips", identity)
        content = read_json(path, file_names=True)
        try:
            captions = from_dict(content["result"])
            return Entry(identity, str(content["recipe"]), captions, float(content["seconds"]))
        except UNSOUND as error:
            raise CorpusError(f"{path}: damaged ({error!r:.80}); caption the clips again") from None

    def read_words(self, identity: str) -> WordRecord | None:
        """None if there is no sound record: then words are not searched."""
        from densevidcap.library.shown import WordRecord

        try:
            return WordRecord.load(self.place("words", identity, ".safetensors"))
        except CorpusError:
            return None

    def read_lexicon(self, digest: str) -> WordList:
        from densevidcap.library.shown import WordList

        return WordList.load(self.folder / "lexica" / f"{digest}.json")

    def captions(self, identity: str, place: str | None = None) -> DenseCaptions:
        """A clip's sentences as they stand now, with corrections; of the file at `place`."""
        said = self.read_entry(identity).captions
        return self.put_right(identity, replace(said, source=place or said.source))

    def put_right(self, identity: str, said: DenseCaptions) -> DenseCaptions:
        """Sentences of the clip, chosen by whomever, with its corrections."""
        for correction in self.read_corrections(identity):
            said = _apply(said, correction)
        return said

    # What people put right

    def read_corrections(self, identity: str) -> list[Correction]:
        path = self.place("corrections", identity)
        if not path.exists():
            return []
        content = read_json(path)
        try:
            return [
                Correction(str(row["said"]), row["caption"] and caption_from_dict(row["caption"]))
                for row in content["corrections"]
            ]
        except UNSOUND as error:
            raise CorpusError(
                f"{path}: not corrections as densevidcap writes them ({error!r:.80}); repair it"
            ) from None

    def correct(self, place: str | Path, said: str, text: str | None) -> None:
        """Say `text` instead of what is said of the clip at `place`; None leaves it out.

        Whatever captions the clip later, with `--overwrite` too, the correction stays.
        """
        self.correct_clip(self.find_identity(place), said, text, str(place))

    def correct_clip(
        self,
        identity: str,
        said: str,
        text: str | None,
        name: str = "the clip",
        captions: DenseCaptions | None = None,
    ) -> None:
        """The same of a clip by its identity. The sentence itself as `text` approves of it.

        `captions` are those that a person saw, if not those of the library.
        """
        captions = self.captions(identity) if captions is None else captions
        wanted = _unify(said)
        for caption in captions:
            if _unify(caption.text) == wanted:
                break
        else:
            raise CorpusError(
                f"{name}: nobody says '{said}' of it; the sentences are: "
                + " | ".join(caption.text for caption in captions)
            )
        new = None
        if text is not None:
            new = replace(caption, confidence=1.0)
            if _unify(text) != wanted:
                new = replace(new, text=text, raw=text, evidence=(), unsupported=())
        # A correction of a correction takes its place.
        earlier = self.read_corrections(identity)
        origin = next((e.said for e in earlier if e.caption == caption), caption.text)
        kept = [each for each in earlier if each.caption != caption]
        self._write_corrections(identity, [*kept, Correction(origin, new)])

    def uncorrect(self, identity: str, said: str) -> bool:
        """Let the model's own sentence stand again; False if nobody had put it right."""
        earlier = self.read_corrections(identity)
        kept = [each for each in earlier if _unify(each.said) != _unify(said)]
        if len(kept) == len(earlier):
            return False
        self._write_corrections(identity, kept)
        return True

    def _write_corrections(self, identity: str, corrections: list[Correction]) -> None:
        path = self.place("corrections", identity)
        if corrections:
            rows = [_correction_to_dict(each) for each in corrections]
            _write_json(path, {"corrections": rows})
        else:
            path.unlink(missing_ok=True)

    # What people take out

    def remove(self, identity: str) -> None:
        """Take a clip out; `restore` brings it back. Its file is left where it is."""
        if not self.is_done(identity):
            raise CorpusError(f"{identity}: no clip of {self.folder}")
        for kind, ending in _PARTS:
            self._move(self.place(kind, identity, ending), self._removed(identity, kind, ending))

    def restore(self, identity: str) -> None:
        if not self.is_removed(identity):
            raise CorpusError(f"{identity}: was not taken out of {self.folder}, or is forgotten")
        if self.is_done(identity):
            # Captioned again meanwhile: what a person said of it counts, not the old result.
            for kind, ending in _PARTS:
                if self.place(kind, identity, ending).exists():
                    self._removed(identity, kind, ending).unlink(missing_ok=True)
        for kind, ending in reversed(_PARTS):
            self._move(self._removed(identity, kind, ending), self.place(kind, identity, ending))
        self.forget(identity)

    def forget(self, identity: str) -> None:
        """What is known of a clip that was taken out is gone for good."""
        for kind, ending in _PARTS:
            self._removed(identity, kind, ending).unlink(missing_ok=True)
        with suppress(OSError):
            self._removed(identity, "clips", ".json").parent.rmdir()

    def is_removed(self, identity: str) -> bool:
        return self._removed(identity, "clips", ".json").exists()

    def list_removed(self) -> list[str]:
        return sorted(path.parent.name for path in self.folder.glob(f"{_REMOVED}/??/*/clips.json"))

    def read_removed(self, identity: str) -> DenseCaptions:
        """What was said of a clip that was taken out."""
        path = self._removed(identity, "clips", ".json")
        try:
            return from_dict(read_json(path, file_names=True)["result"])
        except UNSOUND as error:
            raise CorpusError(f"{path}: damaged ({error!r:.80}); forget the clip") from None

    def _removed(self, identity: str, kind: str, ending: str) -> Path:
        return self.folder / _REMOVED / identity[:2] / identity / f"{kind}{ending}"

    @staticmethod
    def _move(source: Path, target: Path) -> None:
        if source.exists():
            with writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)

    def find_identity(
        self, place: str | Path, listed: Sequence[tuple[Source, str]] | None = None
    ) -> str:
        """Of a file by its path, by its name in the library, or by the end of either.

        `listed` are the library's files, where they are known already.
        """
        wanted = str(place)
        absolute = name_path(wanted)
        every = self.list_files() if listed is None else listed
        files = [(source, at) for source, at in every if source.identity is not None]
        for fits in (
            lambda source, at: at == absolute or source.path == absolute,
            lambda source, _: source.name == wanted,
            lambda source, _: f"/{source.name}".endswith(f"/{wanted}"),
        ):
            found = {str(source.identity) for source, at in files if fits(source, at)}
            if len(found) == 1:
                return found.pop()
            if found:
                raise CorpusError(f"{place}: several clips are called so; give the whole path")
        raise CorpusError(
            f"{place}: no clip of {self.folder}; see: densevidcap export --format csv"
        )

    # Questions

    def find(self, question: str, most: int = 10) -> list[Answer]:
        """The clips, times and boxes that fit the question best."""
        from densevidcap.library.search import Finder

        with Finder(self) as finder:
            return finder.find(question, most)

    def more_like(
        self,
        clip: str | Path,
        at: float | None = None,
        box: Box | None = None,
        most: int = 10,
    ) -> list[Answer]:
        """What looks most like a clip, like it at a second, or like a part of its picture."""
        from densevidcap.library.likeness import find_alike
        from densevidcap.library.search import Finder

        with Finder(self) as finder:
            return find_alike(finder, str(clip), at, box, most)


def name_path(source: Path | str) -> str:
    """Absolute, and the same for all ways to write it; links are left as they are."""
    return normpath(Path(source).absolute())


def is_library(folder: Path) -> bool:
    return (folder / CARD).is_file()


def _scan(folder: Path | str) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing if there is none."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _has_content(folder: Path) -> bool:
    return any(not path.name.startswith((".lock", WORKSPACE)) for path in folder.iterdir())


def _find_way(path: str, start: Path) -> str | None:
    """From a folder to a path, as it stays when both are moved; None between two drives."""
    try:
        return relpath(path, start)
    except ValueError:
        return None


def _is_there(place: str) -> bool:
    return lexists(place) or ("::" in place and lexists(place.rpartition("::")[0]))


def _is_as_noted(place: str, noted: str) -> bool:
    # Readers of clips take a while to load, and are needed only after a move.
    from densevidcap.data.clip import open_clip
    from densevidcap.library.identity import stamp

    try:
        return stamp(open_clip(place)) == noted
    except ClipError:
        return False


def _apply(captions: DenseCaptions, correction: Correction) -> DenseCaptions:
    """Whoever says that sentence now, the correction is in its place; else it comes first."""
    rows: list[Caption] = []
    new = correction.caption
    for caption in captions:
        if _unify(caption.text) != _unify(correction.said):
            rows.append(caption)
        elif new is not None and new not in rows:
            rows.append(new)
    if new is not None and new not in rows:
        rows.insert(0, new)
    return replace(captions, captions=tuple(rows))


def _unify(sentence: str) -> str:
    return sentence.strip().rstrip(".").casefold()


def _correction_to_dict(correction: Correction) -> dict[str, Any]:
    from densevidcap.export.json_file import caption_to_dict

    new = correction.caption
    return {"said": correction.said, "caption": None if new is None else caption_to_dict(new)}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        # In ASCII, because names of files may hold what UTF-8 has no bytes for.
        temporary.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="ascii")
