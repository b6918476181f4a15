"""A small sentence model of random weights, against the formulas written out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.torch import load_file, save_file

from densevidcap.errors import ModelError
from densevidcap.models.sentence_meaning import SentenceMeaning, WordPieces

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "##s", "cat", "cafe", ",", "!", "do", "a", "$"]
D, HEADS, WIDE = 8, 2, 12
Array = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meaning")
    sizes = {"hidden_size": D, "intermediate_size": WIDE, "num_attention_heads": HEADS}
    sizes |= {"num_hidden_layers": 2}
    (folder / "config.json").write_text(json.dumps({**sizes, "layer_norm_eps": 1e-12}))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    generator = torch.Generator().manual_seed(0)

    def make(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    tensors = {
        "embeddings.word_embeddings.weight": make(len(PIECES), D),
        "embeddings.position_embeddings.weight": make(32, D),
        "embeddings.token_type_embeddings.weight": make(2, D),
    }
    norms = ["embeddings"]
    for n in range(2):
        layer = f"encoder.layer.{n}"
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        linear = {f"attention.self.{name}": (D, D) for name in ("query", "key", "value")}
        linear |= {"attention.output.dense": (D, D)}
        linear |= {"intermediate.dense": (WIDE, D), "output.dense": (D, WIDE)}
        for name, shape in linear.items():
            tensors[f"{layer}.{name}.weight"] = make(*shape)
            tensors[f"{layer}.{name}.bias"] = make(shape[0])
    for name in norms:
        tensors[f"{name}.LayerNorm.weight"] = make(D)
        tensors[f"{name}.LayerNorm.bias"] = make(D)
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("sentence", "pieces"),
    [
        ("Dogs, dog!", ["dog", "##s", ",", "dog", "!"]),
        ("a  Café\tdogs", ["a", "cafe", "dog", "##s"]),
        ("dogx", ["[UNK]"]),
        ("$a", ["$", "a"]),
        ("a日本dog", ["a", "[UNK]", "[UNK]", "dog"]),
        ("dog" + 98 * "s", ["[UNK]"]),
        ("", []),
    ],
)
def test_words_are_cut_into_the_longest_pieces(sentence: str, pieces: list[str]) -> None:
    ids = WordPieces(PIECES).encode(sentence)
    assert [PIECES[n] for n in ids] == ["[CLS]", *pieces, "[SEP]"]


def test_a_long_sentence_is_cut_off() -> None:
    assert len(WordPieces(PIECES).encode("dog " * 500)) == 128


def test_meanings_follow_the_formulas(folder: Path) -> None:
    """One sentence at a time, a head at a time, with loops for sums."""
    t = {
        name: np.asarray(each, np.float64)
        for name, each in load_file(folder / "model.safetensors").items()
    }

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * t[f"{name}.LayerNorm.weight"] + t[f"{name}.LayerNorm.bias"])

    def line(x: Array, name: str) -> Array:
        return np.asarray(x @ t[f"{name}.weight"].T + t[f"{name}.bias"])

    def read(sentence: str) -> Array:
        ids = WordPieces(PIECES).encode(sentence)
        x = t["embeddings.word_embeddings.weight"][ids]
        x = x + t["embeddings.position_embeddings.weight"][: len(ids)]
        x = norm(x + t["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for n in range(2):
            at = f"encoder.layer.{n}"
            q, k, v = (line(x, f"{at}.attention.self.{name}") for name in ("query", "key", "value"))
            heads = []
            for head in range(HEADS):
                own = slice(head * D // HEADS, (head + 1) * D // HEADS)
                logits = q[:, own] @ k[:, own].T / math.sqrt(D / HEADS)
                weights = np.exp(logits - logits.max(-1, keepdims=True))
                heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, own])
            joined = line(np.concatenate(heads, -1), f"{at}.attention.output.dense")
            x = norm(x + joined, f"{at}.attention.output")
            wide = line(x, f"{at}.intermediate.dense")
            wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
            x = norm(x + line(wide, f"{at}.output.dense"), f"{at}.output")
        mean = x.mean(0)
        return np.asarray(mean / np.linalg.norm(mean))

    sentences = ["dogs", "a cat, a dog", "cafe!", "a dog and a cat do dogs"]
    found = SentenceMeaning.load(folder).embed(sentences)
    assert np.allclose(found, [read(sentence) for sentence in sentences], atol=1e-5)


def test_many_are_as_each_alone(folder: Path) -> None:
    model = SentenceMeaning.load(folder)
    sentences = ["dog " * (1 + number % 7) for number in range(150)]
    together = model.embed(sentences)
    assert np.allclose(
        together[[3, 149]], [model.embed([sentences[n]])[0] for n in (3, 149)], atol=1e-5
    )
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_damaged_model_is_told(folder: Path, tmp_path: Path, name: str) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / name).write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=str(tmp_path)):
        SentenceMeaning.load(tmp_path)
