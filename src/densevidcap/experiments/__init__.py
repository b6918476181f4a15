"""The paper's tables and figures, each from one file of experiments/ by one command."""
