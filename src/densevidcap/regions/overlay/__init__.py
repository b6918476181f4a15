"""Region-sequences drawn over their clip: box plus words, in the style of the paper's Fig. 1.

`boxes` draws them on a picture, `legend` names them, `video` shows the moving clip and `sheet` a
few frames of each on one image. A sequence has the number and colour of its place in the list.
"""

from densevidcap.regions.overlay.sheet import draw_sheet
from densevidcap.regions.overlay.video import write_overlay_video

__all__ = ["draw_sheet", "write_overlay_video"]
