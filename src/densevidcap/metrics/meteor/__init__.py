"""METEOR 1.5 for English in Python: the score of its jar, with the tables of its jar."""

from __future__ import annotations

from densevidcap.metrics.meteor.scoring import Meteor

__all__ = ["Meteor"]
