"""What a zipped text may unzip to."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from densevidcap.data.boxes import read_boxes, read_cases
from densevidcap.data.manifest import read_manifest
from densevidcap.data.text_files import read_csv, read_json
from densevidcap.errors import CorpusError

READERS: dict[str, Callable[[Path], Any]] = {
    "boxes.json.gz": read_boxes,
    "cases.jsonl.gz": read_cases,
    "clips.jsonl.gz": lambda path: list(read_manifest(path)),
    "table.csv.gz": lambda path: list(read_csv(path)),
}


@pytest.mark.parametrize("name", READERS)
def test_what_unzips_without_end_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DENSEVIDCAP_MAX_UNZIPPED_BYTES", str(2**20))
    path = tmp_path / name
    path.write_bytes(gzip.compress(b" " * 2**26, 1))
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match="unzips to more than") as refusal:
            READERS[name](path)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
    assert str(refusal.value).startswith(f"{path}: ")
    assert "set DENSEVIDCAP_MAX_UNZIPPED_BYTES" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_limit_is_of_zipped_files_and_of_what_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {"a": "b" * 20_000}
    text = json.dumps(content).encode()
    plain, zipped = tmp_path / "plain.json", tmp_path / "zipped.json.gz"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text))
    monkeypatch.setenv("DENSEVIDCAP_MAX_UNZIPPED_BYTES", str(len(text)))
    assert read_json(plain) == read_json(zipped) == content
    monkeypatch.setenv("DENSEVIDCAP_MAX_UNZIPPED_BYTES", str(len(text) - 1))
    assert read_json(plain) == content
    with pytest.raises(CorpusError, match=r"zipped\.json\.gz: unzips"):
        read_json(zipped)
