"""What is wrong with a copy of the benchmark: by folder, by file, by its pictures."""
