"""Files that are written as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from densevidcap.files import replacing


def test_replacing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with replacing(path) as temporary:
        temporary.write_text("old")

    def fail_halfway() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
