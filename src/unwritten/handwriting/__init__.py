"""UNIPEN, IAM-OnDB and InkML readers and simulated writers: all give Strokes."""
