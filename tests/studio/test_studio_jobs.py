"""The queue, as the server and the worker use it."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densevidcap.studio.jobs import MOST_TRIES, Jobs

PLENTY = (1000, 1000)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path / "jobs.sqlite")


def test_clips_are_taken_in_order_and_only_once(jobs: Jobs) -> None:
    keys = [f"clip{n}" for n in range(20)]
    for key in keys:
        assert jobs.add(key, key, *PLENTY)
    taken: list[str] = []

    def take_all() -> None:
        while (job := jobs.take()) is not None:
            taken.append(job.id)

    workers = [Thread(target=take_all) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(taken) == sorted(keys)


def test_the_queue_and_the_shelf_have_limits(jobs: Jobs) -> None:
    assert [jobs.add(str(n), "clip", 2, 3) for n in range(3)] == [True, True, False]
    jobs.take()
    assert jobs.add("3", "clip", 2, 3)
    jobs.take()
    assert not jobs.add("4", "clip", 2, 3)


def test_clips_ahead_are_counted(jobs: Jobs) -> None:
    for key in "abc":
        jobs.add(key, key, *PLENTY)
    jobs.take()
    assert {job.id: job.ahead for job in jobs.list_all()} == {"a": 0, "b": 1, "c": 2}


def test_a_clip_over_which_workers_die_is_given_up(jobs: Jobs) -> None:
    jobs.add("bad", "bad.mp4", *PLENTY)
    jobs.add("good", "good.mp4", *PLENTY)
    for _ in range(MOST_TRIES):
        taken = jobs.take()
        assert taken is not None
        assert taken.id == "bad"
        jobs.give_back(died=True)
    bad = jobs.find("bad")
    assert bad is not None
    assert (bad.state, "ffmpeg" in bad.message) == ("failed", True)
    left = jobs.take()
    assert left is not None
    assert left.id == "good"


def test_stopping_the_server_is_not_the_clips_fault(jobs: Jobs) -> None:
    jobs.add("clip", "clip.mp4", *PLENTY)
    for _ in range(3 * MOST_TRIES):
        assert jobs.take() is not None
        jobs.give_back(died=False)
    assert jobs.take() is not None


def test_what_is_removed_while_in_work_takes_no_reports(jobs: Jobs) -> None:
    jobs.add("clip", "clip.mp4", *PLENTY)
    jobs.take()
    assert jobs.report("clip", "words", 0.5)
    assert jobs.remove("clip")
    assert not jobs.remove("clip")
    assert not jobs.report("clip", "words", 0.6)
    assert not jobs.finish("clip")


def test_of_old_clips_only_the_id_stays(jobs: Jobs) -> None:
    for key in ("done", "waiting"):
        jobs.add(key, "private.mp4", *PLENTY)
    jobs.take()
    jobs.finish("done")
    assert jobs.expire(3600) == []
    assert jobs.expire(-1) == ["done"]
    old = jobs.find("done")
    assert old is not None
    assert (old.state, old.name) == ("expired", "")
    assert [job.id for job in jobs.list_all()] == ["waiting"]


def test_a_clip_that_takes_too_long_is_noticed(jobs: Jobs) -> None:
    jobs.add("clip", "clip.mp4", *PLENTY)
    assert not jobs.is_overdue(-1)
    jobs.take()
    assert jobs.is_overdue(-1)
    assert not jobs.is_overdue(3600)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
@settings(max_examples=20, deadline=None)
def test_turns_are_as_they_were_put(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, int]]
) -> None:
    jobs = Jobs(tmp_path_factory.mktemp("turns") / "jobs.sqlite")
    expected = [f"clip{n}" for n in range(6)]
    for key in expected:
        jobs.add(key, key, *PLENTY)
    for key, before in ((f"clip{one}", f"clip{other}") for one, other in moves):
        assert jobs.move(key, before) == (key != before)
        if key != before:
            expected.remove(key)
            expected.insert(expected.index(before), key)
    jobs.add("later", "later", *PLENTY)
    expected.append("later")
    assert {job.id: job.ahead for job in jobs.list_all()} == {k: n for n, k in enumerate(expected)}
    assert [jobs.find(key) for key in expected] == sorted(jobs.list_all(), key=lambda j: j.ahead)
    taken = [jobs.take()]
    assert not jobs.move("later", expected[0])  # which does not wait any more
    assert not jobs.move(expected[0], "later")
    taken += [jobs.take() for _ in expected[1:]]
    assert [job and job.id for job in taken] == expected


def test_what_failed_waits_again_behind_the_others(jobs: Jobs) -> None:
    for key in "ab":
        jobs.add(key, key, *PLENTY)
    jobs.take()
    assert not jobs.retry("a")
    jobs.fail("a", "no frame can be decoded")
    assert jobs.retry("a")
    again = jobs.find("a")
    assert again is not None
    assert (again.state, again.message, again.ahead) == ("waiting", "", 1)


def test_of_what_is_done_the_first_sentence_is_told_until_it_is_dropped(jobs: Jobs) -> None:
    for key in "ab":
        jobs.add(key, key, *PLENTY)
        jobs.take()
        jobs.finish(key, f"sentence {key}")
    assert [job.sentence for job in jobs.list_all()] == ["sentence b", "sentence a"]
    jobs.drop_done("a")
    assert [job.id for job in jobs.list_all()] == ["b"]
    assert jobs.list_passing() == []
    jobs.drop_done()
    assert jobs.list_all() == []


def test_a_job_goes_without_what_was_made_of_its_clip(jobs: Jobs) -> None:
    jobs.add("clip", "clip.mp4", *PLENTY)
    assert jobs.remove("clip", passing=False) == "waiting"
    assert (jobs.list_all(), jobs.list_passing()) == ([], [])
