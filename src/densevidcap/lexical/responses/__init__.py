"""Response maps: how strongly each region answers to a word, drawn over the frames.

The paper's supplement shows such maps ("Response Maps"). `overlay` paints one
over a picture, `sheet` a clip's frames on one image, `video` the moving clip.
"""

from densevidcap.lexical.responses.overlay import ResponseMap
from densevidcap.lexical.responses.sheet import draw_sheet
from densevidcap.lexical.responses.video import write_response_video

__all__ = ["ResponseMap", "draw_sheet", "write_response_video"]
