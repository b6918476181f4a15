"""Weakly supervised dense video captioning (Shen et al., CVPR 2017)."""

__version__ = "0.1.0"
