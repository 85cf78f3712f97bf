"""The docs as a site: ./dev docs."""
