"""Data from where its owners publish it: the gated benchmark, its public samples, UNIPEN."""
