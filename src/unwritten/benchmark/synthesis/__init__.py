"""Words made of letter clips, cleanly or as the published ones were made."""
