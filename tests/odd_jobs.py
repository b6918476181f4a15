"""Jobs that meet with accidents, and eyes that do, in processes of their own."""

from __future__ import annotations

import os
import signal
import time

from torch import Tensor

from densevidcap.models.word_detector import RegionEncoder

DEADLY = 13


def double(job: int) -> int:
    """The later jobs end first, and one ends its process."""
    time.sleep(0.02 * (-job % 5))
    if job == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job


class DeadlyEyes(RegionEncoder):
    """White pictures end the process in which they are looked at, as too little memory would."""

    def observe(self, x: Tensor, stage: int = 0) -> tuple[Tensor, Tensor]:
        if float(x.min()) > 200:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().observe(x, stage)
