"""The test world measures others, so its own truth is checked against the pixels it draws."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densevidcap.data.manifest import read_manifest
from densevidcap.examples import FRAME_RATE, Thing, World, write_world
from densevidcap.examples.words import (
    COLOUR_WORDS,
    FUNCTION_WORDS,
    KIND_WORDS,
    MOTION_PHRASES,
    PLACE_PHRASES,
    SHADE_WORDS,
    TEXTURE_WORDS,
)

numbers = st.integers(0, 10_000)
few_examples = settings(max_examples=25, deadline=None)


@few_examples
@given(number=numbers)
def test_a_seed_and_a_number_make_the_same_clip_again(number: int) -> None:
    first, second = World(seed=3, size=96).clip(number), World(seed=3, size=96).clip(number)
    np.testing.assert_array_equal(first.frames.images, second.frames.images)
    assert (first.captions, first.things) == (second.captions, second.things)


def test_seeds_and_numbers_make_different_clips() -> None:
    images = [
        World(seed, size=96).clip(number).frames.images for seed in (0, 1) for number in (0, 1)
    ]
    assert len({image.tobytes() for image in images}) == 4


@few_examples
@given(number=numbers, frames=st.integers(2, 20))
def test_size_and_frames_change_the_drawing_but_not_the_story(number: int, frames: int) -> None:
    small, large = World(size=96).clip(number), World(size=320, frames=frames).clip(number)
    assert small.sentences == large.sentences
    for thing, larger in zip(small.things, large.things, strict=True):
        assert thing.words == larger.words
        assert thing.boxes[0].iou(larger.boxes[0]) > 0.8
        assert thing.boxes[-1].iou(larger.boxes[-1]) > 0.8


@few_examples
@given(number=numbers)
def test_a_box_is_just_around_the_pixels_of_its_thing(number: int) -> None:
    """Taking a thing out of the scene changes pixels inside its box, up to its sides."""
    world = World(size=128, frames=4)
    scene, clip = world.scene(number), world.clip(number)
    for index, thing in enumerate(clip.things):
        others = scene.actors[:index] + scene.actors[index + 1 :]
        without, _ = replace(scene, actors=others).render(world.size, world.frames)
        changed = (clip.frames.images != without).any(axis=-1)
        for mask, box in zip(changed, thing.boxes, strict=True):
            columns, rows = mask.any(axis=0).nonzero()[0], mask.any(axis=1).nonzero()[0]
            seen = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
            edges = np.array([box.left, box.top, box.right, box.bottom]) * world.size
            slack = (seen - edges) * (1, 1, -1, -1)
            assert (slack >= -1e-9).all(), "pixels outside the box"
            assert (slack <= 2).all(), "the box is too large"


@few_examples
@given(number=numbers)
def test_things_keep_apart_and_are_large_enough_for_a_coarse_grid(number: int) -> None:
    clip = World(size=96).clip(number)
    assert 2 <= len(clip.things) <= 3
    assert len({thing.kind for thing in clip.things}) == len(clip.things)
    for frame in range(len(clip.frames)):
        boxes = [thing.boxes[frame] for thing in clip.things]
        assert all(0.03 < box.area < 0.25 for box in boxes)
        assert all(a.iou(b) < 0.15 for a in boxes for b in boxes if a is not b)


@few_examples
@given(number=numbers)
def test_a_caption_says_only_what_holds_for_its_thing(number: int) -> None:
    clip = World(size=96).clip(number)
    assert len(set(clip.captions)) == len(clip.captions)
    assert {sentence.thing for sentence in clip.sentences} == set(range(len(clip.things)))
    scenery = {*PLACE_PHRASES, *SHADE_WORDS, *FUNCTION_WORDS}
    for sentence in clip.sentences:
        thing = clip.things[sentence.thing]
        words = set(sentence.text.split())
        assert words <= thing.words | scenery
        assert words & set(KIND_WORDS[thing.kind])
        for frame in range(len(clip.frames)):
            for word in words & thing.words:
                assert thing.boxes[frame] in clip.boxes(word, frame)
            for word in words - thing.words:
                assert clip.boxes(word, frame) == []


def test_a_word_can_hold_for_several_things() -> None:
    clips = [World(size=96).clip(number) for number in range(20)]
    assert any(len(clip.boxes(colour, 0)) > 1 for clip in clips for colour in COLOUR_WORDS)


def test_no_word_means_two_properties() -> None:
    """Otherwise a word's boxes would mix, say, a kind with a motion."""
    groups = [*KIND_WORDS.values(), *COLOUR_WORDS.values(), *TEXTURE_WORDS.values()]
    moving = {word for phrases in MOTION_PHRASES.values() for word in " ".join(phrases).split()}
    words = [word for group in groups for word in group] + sorted(moving - FUNCTION_WORDS)
    words += [*PLACE_PHRASES, *SHADE_WORDS]
    assert len(set(words)) == len(words)
    assert not FUNCTION_WORDS & set(words)


@pytest.mark.parametrize(
    ("motion", "axis", "sign"), [("left", 0, -1), ("right", 0, 1), ("up", 1, -1), ("down", 1, 1)]
)
def test_boxes_go_where_the_motion_says(motion: str, axis: int, sign: int) -> None:
    things = _things_of(World(size=96), range(40))
    moves = [_centre(thing, -1) - _centre(thing, 0) for thing in things if thing.motion == motion]
    assert moves
    assert all(sign * move[axis] > 0.1 and abs(move[1 - axis]) < 0.1 for move in moves)


def test_still_things_stay() -> None:
    still = [thing for thing in _things_of(World(size=96), range(40)) if thing.motion == "still"]
    assert still
    assert all(len(set(thing.boxes)) == 1 for thing in still)


def test_every_property_is_about_equally_frequent() -> None:
    world = World()
    actors = [actor for number in range(300) for actor in world.scene(number).actors]
    for values, options in [
        ([actor.kind for actor in actors], set(KIND_WORDS)),
        ([actor.colour for actor in actors], set(COLOUR_WORDS)),
        ([actor.texture for actor in actors], set(TEXTURE_WORDS)),
        ([actor.way.motion for actor in actors], set(MOTION_PHRASES)),
    ]:
        counts = Counter(values)
        assert set(counts) == options
        assert min(counts.values()) > 0.6 * len(actors) / len(options)


def test_things_are_found_all_over_the_frame() -> None:
    world = World()
    middles = np.array(
        [actor.way.middle for number in range(200) for actor in world.scene(number).actors]
    )
    thirds = Counter(map(tuple, (3 * middles).astype(int).tolist()))
    assert len(thirds) == 9
    assert min(thirds.values()) > 0.04 * len(middles)


def test_a_world_is_written_the_same_each_time(tmp_path: Path) -> None:
    """To the byte: what is trained on it does not depend on the day."""
    for time in ("first", "second", "third"):
        write_world(tmp_path / time, range(4), World(size=96, frames=24))
    first, *others = (
        {path.name: path.read_bytes() for path in (tmp_path / time).glob("*.mp4")}
        for time in ("first", "second", "third")
    )
    assert len(first) == 4
    assert others == [first, first]


def test_the_written_world_is_a_corpus_with_its_truth(tmp_path: Path) -> None:
    world = World(size=64, frames=5)
    manifest = write_world(tmp_path / "world", clips=[0, 8, 9], world=world)
    records = list(read_manifest(manifest))
    truths = [json.loads(line) for line in (manifest.parent / "truth.jsonl").open()]
    assert [record.split for record in records] == ["train", "val", "test"]
    for number, record, truth in zip([0, 8, 9], records, truths, strict=True):
        clip = world.clip(number)
        assert record.id == truth["id"] == clip.id
        assert record.captions == clip.captions
        assert record.source is not None
        with av.open(record.source) as video:
            assert video.streams.video[0].average_rate == FRAME_RATE
            decoded = np.stack(
                [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
            )
        assert np.abs(decoded.astype(int) - clip.frames.images).mean() < 8
        assert truth["things"][0]["boxes"][4][0] == clip.things[0].boxes[4].left
        assert truth["sentences"][0]["thing"] == clip.sentences[0].thing


@pytest.mark.parametrize("wrong", [{"size": 63}, {"size": 32}, {"frames": 1}])
def test_a_world_that_cannot_be_drawn_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"size|frames"):
        World(**wrong)


def _things_of(world: World, clips: range) -> list[Thing]:
    return [thing for number in clips for thing in world.clip(number).things]


def _centre(thing: Thing, frame: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    box = thing.boxes[frame]
    return np.array([box.left + box.right, box.top + box.bottom]) / 2
