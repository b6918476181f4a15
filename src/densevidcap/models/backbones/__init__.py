"""The networks that look at frames, by name."""

from __future__ import annotations

from importlib import import_module

from densevidcap.errors import ModelError
from densevidcap.models.backbones.backbone import Backbone

BACKBONES: dict[str, str] = {
    "lite0": "densevidcap.models.backbones.efficientnet_lite:EfficientNetLite",
    "lite1": "densevidcap.models.backbones.efficientnet_lite:EfficientNetLite",
    "lite2": "densevidcap.models.backbones.efficientnet_lite:EfficientNetLite",
    "resnet50": "densevidcap.models.backbones.resnet:ResNet50",
    "resnet50-keras": "densevidcap.models.backbones.resnet:KerasResNet50",
    "vgg16": "densevidcap.models.backbones.vgg:VGG16",
    "vgg16-conv5": "densevidcap.models.backbones.vgg:VGG16Convolutions",
    "dinov2-s14": "densevidcap.models.backbones.dinov2:DINOv2",
    "dinov2-b14": "densevidcap.models.backbones.dinov2:DINOv2",
    "features": "densevidcap.models.backbones.features:GivenFeatures",
}
"""Name to module and class, which is made from the name. A new backbone is a file and a line."""


def build_backbone(name: str) -> Backbone:
    """A network of that name with random weights; only its own module is imported."""
    if name not in BACKBONES:
        raise ModelError(f"no backbone named '{name}': choose one of {', '.join(BACKBONES)}")
    module, _, kind = BACKBONES[name].partition(":")
    backbone: Backbone = getattr(import_module(module), kind)(name)
    return backbone
