"""`densevidcap experiment`, through the real command line, on a few clips of the test world."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from tests.repro.small_experiments import CLAIMS, SINGLE, Studio, open_studio

from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError, ModelError, OutputError
from densevidcap.repro.results import Result

DENSE = """
[about]
title = "Dense"
kind = "dense"
baseline = "OSR + ORE"
"""
ORDERS = (
    "osr",
    "ore",
    "beams",
    "choice",
    "consensus",
    "likelihood",
    "evaluator",
    "confidence",
    "network",
    "random",
)
DIVERSITY = """
[about]
title = "Diversity"
kind = "diversity"
[[rows]]
name = "All human captions"
system = "captions"
paper = [0.463]
[[rows]]
name = "Ours"
system = "model"
paper = [0.501]
"""
LOSS = """
[about]
title = "Losses"
kind = "loss"
[[rows]]
name = "one"
system = "words-mimll"
[[rows]]
name = "the same"
system = "words-mimll"
[[rows]]
name = "another"
system = "words-mil"
"""
LOSS_CLAIMS = """
[[claims]]
name = "{better}"
text = "a loss is higher"
where = "a figure"
experiment = "loss"
table = "After the last epoch"
better = "{better}"
worse = "one"
columns = ["of the learned clips, without dropout"]
"""


PEOPLE = """
[[rows]]
name = "model"
system = "model"
[[rows]]
name = "human"
system = "human"
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return open_studio(tmp_path_factory.mktemp("studio"))


def load(studio: Studio, name: str) -> Result:
    return Result.load(studio.runs / name / "results.json")


def test_baselines_are_trained_once_and_shown_beside_the_paper(studio: Studio) -> None:
    studio.define("single", SINGLE)
    docs = studio.folder / "docs"
    result = studio.run("single", "--report", str(docs))
    assert result.exit_code == 0, result.output
    assert "plain" in result.stdout
    assert "epoch 1: loss " in result.stderr

    found = load(studio, "single")
    assert (
        found.command
        == "densevidcap experiment single --data manifest.jsonl --model model --out runs"
    )
    assert (found.clips, found.trained) == (1, 8)
    scores, _, detection, training = found.outcome.tables
    assert [line.name for line in training.lines] == ["plain", "plain-on-words-mil"]
    (finding,) = found.outcome.findings
    assert [each.column for each in finding.measured] == [*scores.columns]
    lines = {line.name: line for line in scores.lines}
    assert lines["published"].ours == ()
    assert all(len(lines[name].ours) == 4 for name in lines if name != "published")
    assert [len(line.ours) for line in detection.lines] == [3, 3]

    page = (docs / "results.md").read_text()
    assert "| published | (29.0) | (43.7) | (61.4) | (45.7) |" in page
    assert "| a category helps | Table 3 | – | METEOR " in page
    assert f"`experiment single`, run {found.run} |" in page
    assert "- A note." in page
    assert str(studio.folder) not in page

    weights = {path: path.stat().st_mtime_ns for path in studio.runs.rglob("weights.safetensors")}
    assert len(weights) == 5  # two captioners with their classifiers, one Lexical-FCN
    for arguments, kept in (("single",), "results.json"), (("--report", str(docs)), "results.md"):
        refused = studio.run(*arguments)
        assert isinstance(refused.exception, OutputError)
        assert f"{kept}: stands there already; give --overwrite" in str(refused.exception)
    again = studio.run("single", "--overwrite")
    assert again.exit_code == 0, again.output
    assert "epoch" not in again.stderr
    assert {path: path.stat().st_mtime_ns for path in weights} == weights
    assert load(studio, "single").outcome == found.outcome

    # How sentences are searched is the system's affair, whatever it was when they were learned.
    shorter = studio.run("single", "--overwrite", "--set", "decoding.max_length=1")
    assert shorter.exit_code == 0, shorter.output
    assert "epoch" not in shorter.stderr
    said = {path: read_json(path) for path in (studio.runs / "said").glob("*-plain-*.json")}
    lengths = [max(len(text.split()) for text in each.values()) for each in said.values()]
    assert min(lengths) == 1 < max(lengths)


def test_orders_of_dense_captions_beside_the_oracles(studio: Studio) -> None:
    rows = "".join(f'[[rows]]\nname = "{order}"\nsystem = "{order}"\n' for order in ORDERS)
    studio.define("dense", DENSE.replace("OSR + ORE", "osr") + rows)
    result = studio.run("dense")
    assert result.exit_code == 0, result.output
    five, shares, ten, _ = load(studio, "dense").outcome.tables
    assert [line.name for line in five.lines] == [*ORDERS]
    assert shares.lines[0].ours == pytest.approx((100,) * 4)
    rouge = {line.name: line.ours[ten.columns.index("ROUGE-L")] for line in ten.lines}
    assert all(rouge["ore"] >= rouge[order] - 1e-9 for order in ORDERS[3:])


def test_what_was_said_of_other_clips_or_captions_is_not_read_again(studio: Studio) -> None:
    studio.define("oracle", DENSE + '[[rows]]\nname = "OSR + ORE"\nsystem = "osr"\n')
    assert studio.run("oracle").exit_code == 0
    before = {*(studio.runs / "said").glob("*-told-candidates-*.json")}
    changed = studio.folder / "other-captions.jsonl"
    records = [
        replace(record, captions=("a green cube",)) for record in read_manifest(studio.manifest)
    ]
    write_manifest(changed, records)
    again = studio.run("oracle", "--overwrite", data=changed)
    assert again.exit_code == 0, again.output
    (new,) = {*(studio.runs / "said").glob("*-told-candidates-*.json")} - before
    assert f"predictions {new.name}" in dict(load(studio, "oracle").origin)
    held_out = next(record for record in records if record.split == "val")
    write_manifest(changed, [*records, replace(held_out, id="one more")])
    longer = studio.run("oracle", "--overwrite", data=changed)
    assert longer.exit_code == 0, longer.output
    assert load(studio, "oracle").clips == 2


def test_osr_searches_with_the_words_of_the_references(studio: Studio) -> None:
    """Other regions than those that are found without them, and its row is of what they are."""
    rows = "".join(f'[[rows]]\nname = "{order}"\nsystem = "{order}"\n' for order in ("osr", "ore"))
    studio.define("told", DENSE.replace("OSR + ORE", "osr") + rows)
    assert studio.run("told").exit_code == 0
    origin = dict(load(studio, "told").origin)
    files = [name.split()[1] for name in origin if name.startswith("predictions ")]
    (told,) = (studio.runs / "said" / name for name in files if "-told-" in name)
    (free,) = (studio.runs / "said" / name for name in files if "-told-" not in name)
    content = read_json(told)
    assert content.keys() == read_json(free).keys()
    assert content != read_json(free)
    before = [line.ours for line in load(studio, "told").outcome.tables[0].lines]
    for found in content.values():
        found["sentences"] = ["zzz"] * len(found["sentences"])
    told.write_text(json.dumps(content))
    assert studio.run("told", "--overwrite").exit_code == 0
    after = [line.ours for line in load(studio, "told").outcome.tables[0].lines]
    told.unlink()
    assert after[0] == pytest.approx((0, 0, 0, 0), abs=1e-6) != before[0]
    assert after[1] == before[1]


def test_two_rows_that_say_the_same_are_told_to_be_no_better_in_every_draw(studio: Studio) -> None:
    """What is drawn is the same for both; alone, each depends on which clips are drawn."""
    held_out = next(record for record in read_manifest(studio.manifest) if record.split == "val")
    others = [
        replace(held_out, id=f"other {place}", captions=(text,))
        for place, text in enumerate(("a train", "a ball moves", "red"))
    ]
    manifest = studio.folder / "four.jsonl"
    write_manifest(manifest, [*read_manifest(studio.manifest), *others])
    row = '[[rows]]\nname = "{}"\nsystem = "model"\n'
    text = '[about]\ntitle = "Twice"\nkind = "single"\n' + row.format("told") + row.format("plain")
    studio.define("twice", text)
    before = studio.define("claims", CLAIMS.replace('"single"', '"twice"'))
    try:
        result = studio.run("twice", data=manifest)
    finally:
        before.write_text(CLAIMS)
    assert result.exit_code == 0, result.output
    found = load(studio, "twice").outcome
    (finding,) = found.findings
    assert {(each.mean, each.low, each.high) for each in finding.measured} == {(0, 0, 0)}
    assert max(found.tables[1].lines[0].ours) > 0


def test_diversity_and_its_price(studio: Studio) -> None:
    studio.define("diversity", DIVERSITY)
    studio.define("loss", LOSS)
    docs = studio.folder / "drawn"
    result = studio.run("diversity", "loss", "--report", str(docs))
    assert result.exit_code == 0, result.output
    systems, clusters, prices = load(studio, "diversity").outcome.tables
    assert [line.paper for line in systems.lines] == [(0.463,), (0.501,)]
    assert clusters.columns == ("all", *"23456789", "10")
    weights = [line for line in prices.lines if line.name.startswith("weight")]
    diversities = [line.ours[prices.columns.index("D_div")] for line in weights]
    assert diversities[0] <= diversities[-1]
    for picture in ("diversity-clusters", "diversity-systems", "diversity-price", "loss"):
        with Image.open(docs / "pictures" / f"{picture}.png") as image:
            assert image.format == "PNG"


def test_losses_are_compared_clip_by_clip(studio: Studio) -> None:
    studio.define("loss", LOSS)
    rows = ("the same", "another")
    before = studio.define("claims", "".join(LOSS_CLAIMS.format(better=row) for row in rows))
    try:
        result = studio.run("loss", "--overwrite")
        assert result.exit_code == 0, result.output
        shown = studio.run("--claims", "--overwrite")
    finally:
        before.write_text(CLAIMS)
    found = load(studio, "loss").outcome
    (table,) = found.tables
    one, same, another = (line.ours for line in table.lines)
    assert one == same != another
    findings = {finding.claim: finding.measured for finding in found.findings}
    ((nothing,), (more,)) = (findings[row] for row in rows)
    assert (nothing.mean, nothing.low, nothing.high) == (0, 0, 0)
    assert more.mean == pytest.approx(another[1] - one[1])
    assert more.low <= more.mean <= more.high
    assert more.low < more.high
    assert "**undecided**" in shown.stdout


def test_a_clip_that_cannot_be_read_is_named_and_left_out(studio: Studio) -> None:
    missing = studio.folder / "none.mp4"
    broken = ClipRecord("gone", str(missing), ("a red ball",), None, "validate")
    manifest = studio.folder / "with-broken.jsonl"
    write_manifest(manifest, [*read_manifest(studio.manifest), broken])
    studio.define("nothing", '[about]\ntitle = "Nothing"\nkind = "loss"\n')
    result = studio.run("nothing", data=manifest)
    assert result.stderr.count(f"left out gone: {missing}") == 1
    assert result.exit_code == 0, result.output
    assert load(studio, "nothing").clips == 1


@pytest.mark.parametrize(
    ("name", "claim", "said"),
    [
        (
            "single",
            CLAIMS.replace('"told"\nworse', '"asked"\nworse'),
            "no row with an interval is called 'asked'; name one of "
            "'model', 'on other words', 'plain', 'told'",
        ),
        (
            "single",
            CLAIMS + 'trainings = [["told", "plane"]]\n',
            "no row with an interval is called 'plane'; name one of "
            "'model', 'on other words', 'plain', 'told'",
        ),
        (
            "single",
            CLAIMS + 'table = "Words"\n',
            "no claim can be of table 'Words' of single; its tables with intervals: '', "
            "'Word detection in a clip'",
        ),
        (
            "single",
            CLAIMS + 'columns = ["CIDER"]\n',
            "no column is called 'CIDER'; name METEOR, BLEU@4, ROUGE-L, CIDEr",
        ),
        (
            "single",
            CLAIMS + 'table = "Word detection in a clip"\n',
            "no row with an interval is called 'told'; name one of "
            "'on other words: all regions by noisy-OR', "
            "'on other words: the best region of its sequences'",
        ),
        (
            "diversity",
            CLAIMS.replace('"single"', '"diversity"'),
            "no row with an interval is called 'told'; name one of '5 clusters', "
            "'All human captions', 'Ours', 'any other number', 'the null of eight strangers'",
        ),
    ],
)
def test_a_claim_of_what_is_not_there_is_told_before_any_work(
    studio: Studio, name: str, claim: str, said: str
) -> None:
    studio.define("single", SINGLE)
    studio.define("diversity", DIVERSITY)
    before = studio.define("claims", claim)
    try:
        failed = studio.run(name, "--overwrite")
    finally:
        before.write_text(CLAIMS)
    assert isinstance(failed.exception, ModelError)
    assert str(failed.exception) == f"claims.toml: claim 'told': {said}"


def test_what_cannot_be_run_is_told_in_a_line(studio: Studio) -> None:
    studio.define("split", SINGLE.replace('kind = "single"', 'kind = "single"\nsplit = "nowhere"'))
    studio.define("system", SINGLE.replace('system = "plain"', 'system = "plane"', 1))
    studio.define("words", SINGLE.replace('words = "words-mil"', 'words = "words-mill"'))
    studio.define("order", DENSE + '[[rows]]\nname = "OSR + ORE"\nsystem = "length"\n')
    for name, kind, said in (
        ("none", CorpusError, f"{studio.definitions / 'none.toml'}: no such experiment"),
        ("split", CorpusError, f"{studio.manifest}: no clip of split 'nowhere' has captions"),
        ("system", ModelError, f"{studio.definitions / 'ablation' / 'plane.toml'}: "),
        ("words", ModelError, f"{studio.definitions / 'ablation' / 'words-mill.toml'}: "),
        ("order", ModelError, "order: 'OSR + ORE' has no order 'length'"),
    ):
        failed = studio.run(name)
        assert isinstance(failed.exception, kind)
        assert said in str(failed.exception)
        assert not (studio.runs / name).exists()


def test_people_are_not_measured_where_a_clip_has_one_caption(studio: Studio) -> None:
    studio.define("people", SINGLE[: SINGLE.index("[[rows]]")] + PEOPLE)
    manifest = studio.folder / "one-caption.jsonl"
    records = read_manifest(studio.manifest)
    write_manifest(manifest, [replace(each, captions=each.captions[:1]) for each in records])
    result = studio.run("people", data=manifest)
    assert result.exit_code == 0, result.output
    found = load(studio, "people")
    assert [len(line.ours) for line in found.outcome.tables[0].lines] == [4, 0]
    (note,) = (note for note in found.notes if note.startswith("Not run"))
    assert note.startswith("Not run: human: clip '")
    assert note.endswith("has a single caption and none to compare it with")


def test_all_measures_anew_what_was_made_from_other_files(tmp_path: Path) -> None:
    """The same names of files in a command do not make them the same files."""
    studio = open_studio(tmp_path)
    studio.define("claims", "")
    studio.define("single", SINGLE)
    studio.define("oracle", DENSE + '[[rows]]\nname = "OSR + ORE"\nsystem = "osr"\n')
    captions = tmp_path / "captions.jsonl"
    records = [*read_manifest(studio.manifest)]
    write_manifest(captions, records)
    command = ("all", "--captions", str(captions))
    first = studio.run(*command)
    assert first.exit_code == 0, first.output
    assert studio.run(*command).stdout.count("measures it anew") == 2
    model, trained = tmp_path / "model", studio.runs / "models" / "plain"
    for path, stale in (
        (captions, 2),
        (model / "words" / "weights.safetensors", 2),
        (model / "evaluator" / "weights.safetensors", 2),
        (trained / "weights.safetensors", 1),
    ):
        kept = path.read_bytes()
        try:
            path.write_bytes(kept + b"\n")
            again = studio.run(*command)
        finally:
            path.write_bytes(kept)
        assert again.stdout.count("measures it anew") == 2 - stale, path
        assert isinstance(again.exception, OutputError)
        assert "stands there already; give --overwrite" in str(again.exception)
    # A trained model that was removed to save space changes nothing.
    (trained / "weights.safetensors").unlink()
    assert studio.run(*command).stdout.count("measures it anew") == 2


def test_where_no_experiment_can_be_run_that_is_told(studio: Studio, tmp_path: Path) -> None:
    manifest = tmp_path / "unsaid.jsonl"
    write_manifest(
        manifest, [replace(each, captions=()) for each in read_manifest(studio.manifest)]
    )
    failed = studio.run("all", data=manifest)
    assert isinstance(failed.exception, CorpusError)
    assert f"{studio.definitions}: no experiment in it" in str(failed.exception)
