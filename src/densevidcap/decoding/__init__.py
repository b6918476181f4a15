"""From probabilities of words to sentences: searched, drawn, compared, chosen."""
