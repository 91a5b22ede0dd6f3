"""What the browser itself does around every page: keys, focus, links that stay in the session."""
