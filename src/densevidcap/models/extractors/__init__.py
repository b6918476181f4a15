"""What reads motion and sound from clips themselves: the networks, their weights, the streams."""
