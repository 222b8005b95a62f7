"""From strokes to what a camera and a microphone would record."""
