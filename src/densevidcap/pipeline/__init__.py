"""From a clip to captions: `captioner` looks and proposes, `captions` chooses, `story` retells."""
