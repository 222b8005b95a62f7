"""From frames to a Track: nib, hand, shots, smoothing, canonical view, overlay and ink."""
