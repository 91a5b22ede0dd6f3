"""Reports as one HTML file, with charts as inline SVG."""
