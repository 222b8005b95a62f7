"""Words, letter clips, synthesis, manifest, protocols and splits, audit."""
