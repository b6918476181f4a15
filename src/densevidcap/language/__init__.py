"""Language: a sentence for every region-sequence (Sec. 3.3)."""
