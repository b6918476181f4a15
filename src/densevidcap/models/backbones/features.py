"""Eyes for features that others extracted: the map is there already, and no network looks."""

from __future__ import annotations

from densevidcap.config import EyesConfig
from densevidcap.errors import ModelError
from densevidcap.models.backbones.backbone import ConvBackbone, Stage
from densevidcap.types import Grid, MapShape


class GivenFeatures(ConvBackbone):
    """Maps (B, D, rows, columns) to the same as tokens.

    How large they are stands in the config, where training writes what the clips have.
    """

    def stages(self) -> list[Stage]:
        return [Stage((), lambda x: x)]

    def count_channels(self, eyes: EyesConfig) -> int:
        return eyes.features

    def read_shape(self, eyes: EyesConfig) -> MapShape:
        if min(eyes.rows, eyes.columns, eyes.features) < 1:
            raise ModelError(
                "eyes of the backbone 'features' need the sizes of a frame's map (rows, columns and"
                " features of [eyes]); `densevidcap fit words` takes them from the clips"
            )
        return MapShape(eyes.rows, eyes.columns, eyes.features)

    def make_grid(self, eyes: EyesConfig) -> Grid:
        shape = self.read_shape(eyes)
        if eyes.window > min(shape.rows, shape.columns):
            raise ModelError(
                f"a window of {eyes.window} cells does not fit a frame of {shape};"
                " set window = 1 and stride = 1 in the config's [eyes]"
            )
        return Grid(shape.rows, shape.columns, eyes.window, eyes.stride)
