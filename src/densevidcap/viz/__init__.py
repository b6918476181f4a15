"""What all pictures share: colours, letters, boxes, sizes, passage of time, and video files."""
