"""What a drawing holds that pages send as a tree of elements."""


def texts(node):
    """All text of a drawn element, in order."""
    return [node] if isinstance(node, str) else [t for child in node[2] for t in texts(child)]


def within(node, kind):
    """Every element of that class in a drawing, itself among them, in order."""
    if isinstance(node, str):
        return []
    own = [node] if kind in node[1].get("class", "").split() else []
    return own + [e for child in node[2] for e in within(child, kind)]
