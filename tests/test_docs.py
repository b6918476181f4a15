"""The docs as a site, and their notebook."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.thorough
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """From a copy: the builder keeps a cache beside its sources."""
    (tmp_path / "mkdocs.yml").write_bytes((ROOT / "mkdocs.yml").read_bytes())
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "src").symlink_to(ROOT / "src")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    page = (tmp_path / "site" / "python" / "index.html").read_text()
    assert 'id="densevidcap.api.Model.caption_many"' in page
    assert "At most k sentences of a clip" in page


def test_every_page_is_in_the_sites_list() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {page for page in pages if f": {page}\n" not in listed} == set()


@pytest.mark.thorough
def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "make_samples.py"), str(tmp_path / "samples")],
        check=True,
    )
    path = ROOT / "docs" / "notebook.ipynb"
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    ]
    assert "data:image/jpeg;base64," in shown[0]["text/html"]
    assert shown[0]["text/plain"].startswith("<samples/carphone.mp4: ")
    assert (tmp_path / "carphone.captions.json").is_file()
