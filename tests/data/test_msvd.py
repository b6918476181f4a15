import csv
import random
from collections import Counter
from pathlib import Path

import pytest

from densevidcap.data.msvd import read_descriptions
from densevidcap.errors import CorpusError

CLIPS = [(f"-{number:09}A", number % 50, number % 50 + 9) for number in range(1970)]


def test_text_and_csv_give_the_same_clips(tmp_path: Path) -> None:
    shuffled = random.Random(0).sample(CLIPS, len(CLIPS))
    text, table = tmp_path / "AllVideoDescriptions.txt", tmp_path / "corpus.csv"
    with text.open("w") as stream:
        stream.write("# Descriptions of all clips\n\n")
        for video, start, end in shuffled:
            stream.write(f"{video}_{start}_{end} a man runs\n{video}_{start}_{end} someone runs\n")
    with table.open("w", newline="") as stream:
        stream.write("VideoID,Start,End,WorkerID,Source,AnnotationTime,Language,Description\n")
        rows = csv.writer(stream)
        for video, start, end in reversed(shuffled):
            rows.writerow([video, start, end, 1, "clean", 40, "English", "a man runs"])
            rows.writerow([video, start, end, 2, "clean", 41, "German", "ein Mann rennt"])
            rows.writerow([video, start, end, 3, "unverified", 42, "English", ""])
            rows.writerow([video, start, end, 4, "unverified", 43, "English", "someone\nruns "])

    clips = list(read_descriptions(text))
    assert list(read_descriptions(table)) == clips
    assert [clip.id for clip in clips] == sorted(f"{v}_{start}_{end}" for v, start, end in CLIPS)
    assert {clip.captions for clip in clips} == {("a man runs", "someone runs")}
    assert Counter(clip.split for clip in clips) == {"train": 1200, "validate": 100, "test": 670}
    assert [clip.split for clip in clips[1199:1201]] == ["train", "validate"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("some.txt", "abc_1_2 a man runs\n", "1 clips instead of 1,970"),
        ("some.txt", "abc_1_2\n", r"some\.txt:1: expected 'clip-id sentence'"),
        ("some.csv", "VideoID,Start,End\nabc,1,2\n", r"some\.csv:2: no column 'Language'"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(CorpusError, match=complaint):
        list(read_descriptions(path))
