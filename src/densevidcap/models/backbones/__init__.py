"""The ImageNet networks that a Lexical-FCN can stand on, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from densevidcap.errors import ModelError
from densevidcap.models.backbones.backbone import Backbone
from densevidcap.models.backbones.efficientnet_lite import EfficientNetLite
from densevidcap.models.backbones.resnet import ResNet50
from densevidcap.models.backbones.vgg import VGG16

BACKBONES: dict[str, Callable[[], Backbone]] = {
    "lite0": partial(EfficientNetLite, "lite0"),
    "lite1": partial(EfficientNetLite, "lite1"),
    "lite2": partial(EfficientNetLite, "lite2"),
    "resnet50": ResNet50,
    "vgg16": VGG16,
}


def build_backbone(name: str) -> Backbone:
    """A network of that name with random weights."""
    if name not in BACKBONES:
        raise ModelError(f"no backbone named '{name}': choose one of {', '.join(BACKBONES)}")
    return BACKBONES[name]()
