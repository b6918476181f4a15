"""From probabilities of words to sentences: searched, sampled, compared, chosen."""
