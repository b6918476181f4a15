"""The paper's tables and figures, each from one file of definitions/ by one command."""
