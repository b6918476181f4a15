"""Run every benchmark, or those named: `python -m benchmarks decode regions`."""

from __future__ import annotations

import argparse
import importlib

BENCHMARKS = {
    "startup": "how fast `--help` answers, and a first sentence comes; memory at most",
    "limits": "what this machine can multiply, and which share of it each stage of a clip reaches",
    "decode": "sampled frames against OpenCV, memory against length",
    "regions": "region-sequences against NumPy candidate by candidate, and how cost grows",
    "language": "sentences of ten region-sequences at once against one by one",
    "caption": "a clip's captions by stage beside ResNet-50 alone, memory of an hour's film",
    "clips": "real clips, default and fast, beside ResNet-50 alone, with the frames looked at",
    "growth": "time and memory of longer clips, and of more sentences",
    "rivals": "a clip beside one caption by networks of the sizes of BLIP and GIT",
    "search": "one question to 10^5 sentences and 10^6 regions: time and memory",
    "set_memory": "memory over a thousand clips of a library, and its rate beside clip by clip",
    "studio": "fifty clips at once, kills, a flood of captions, and how fast it answers",
    "kills": "a hundred kills of caption and train, and what they cost",
    "grounding": "whether words point at their things in the test world",
}
ON_THEIR_OWN = {"corruption": "five thousand damaged files of every codec and container"}
"""Too long to be run along with the others."""


def main() -> None:
    known = {**BENCHMARKS, **ON_THEIR_OWN}
    lines = [f"  {name:12} {what}" for name, what in known.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure on this machine. Ratios are what to keep: times vary from day to day.",
        epilog="\n".join(["benchmarks, if none is named all but the last:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help="which of those below to run")
    names = parser.parse_args().name or list(BENCHMARKS)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(known)}")
    for name in names:
        print(f"\n== {name}: {known[name]}", flush=True)
        importlib.import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
