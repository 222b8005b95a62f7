"""Films of a clip beside what was read in it: ink, sound, letters and words as the pen moves."""
