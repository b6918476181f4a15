"""All stages in one go: from a table of clips and sentences to a model folder with its figures."""
