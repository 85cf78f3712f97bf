"""Builds the docs as a site, for `./dev docs`."""
