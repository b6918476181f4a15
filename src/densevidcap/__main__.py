"""`python -m densevidcap` is the same as the `densevidcap` command."""

from densevidcap.cli import main

main()
