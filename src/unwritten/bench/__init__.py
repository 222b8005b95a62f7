"""Measurements of speed and memory: ``python -m unwritten.bench`` on a CPU, ``gpu_check.sh`` where a GPU is at hand."""
