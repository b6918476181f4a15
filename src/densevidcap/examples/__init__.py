"""A world of small clips in which the true box of every word in every frame is known.

It exists to measure grounding exactly in tests and experiments. No shipped model is trained on it.

```python
world = World(seed=0, size=160, frames=12)
clip = world.clip(7)
clip.captions                    # ("a red striped ball drifts to the left", ...)
clip.boxes("striped", frame=3)   # where it is striped in frame 3
```
"""

from __future__ import annotations

from densevidcap.examples.world import (
    FRAME_RATE,
    Thing,
    World,
    WorldClip,
    WorldSentence,
    write_world,
)

__all__ = ["FRAME_RATE", "Thing", "World", "WorldClip", "WorldSentence", "write_world"]
