"""What learns: networks, their losses, and what goes into them."""
