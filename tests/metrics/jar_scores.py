"""What the COCO code's jars said of made sentences, and how that was found out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PINNED: dict[str, Any] = json.loads(
    Path(__file__).with_name("jar_scores.json").read_text(encoding="utf-8")
)
"""Written by the command under `made_by`, which runs Java; tests only read it."""
