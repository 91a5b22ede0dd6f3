"""What holds of every page: names are shown as text; controls say their effect, charts and tables speak."""

import re

EVIL = (
    "[a](http://evil.example)![x](http://evil.example/x.png)"
    "<img src=http://evil.example onerror=1>$x$**b**`c`"
)
# Also addresses: Streamlit links them even where their signs are escaped.
LIVE = re.compile(r"(?<!\\)\]\(http:|(?<!\\)<img|\$x(?<!\\)\$|(?<!\\)\*\*b(?<!\\)\*\*|https?\\?://")
MARKDOWN = ("body", "label", "help", "text", "caption", "captions")
PLAIN_OPTIONS = ("Selectbox", "Multiselect")  # the browser shows their options as they are
AS_IT_IS = ("json", "spec", "placeholder")  # so it does with these fields of components, charts and entries
ESCAPED = re.compile(r"\\+[\[\]*$`-]")
TEXT = {"title", "header", "subheader", "caption", "markdown", "metric", "page_link", "latex", "heading"}
BUTTONS = {"button", "download_button", "link_button"}  # their label is the effect


def elements(at):
    """Everything on the page and in the side bar, in order, blocks too."""

    def below(node):
        yield node
        for child in getattr(node, "children", {}).values():
            yield from below(child)

    yield from below(at.main)
    yield from below(at.sidebar)


def live(at):
    """What the page gives to be drawn as Markdown or HTML and that holds an unescaped part of the name.

    And what is no Markdown and yet is escaped: one would see the backslashes.
    """
    found = []
    for element in elements(at):
        kind, proto = type(element).__name__, getattr(element, "proto", None)
        for field in MARKDOWN if kind in PLAIN_OPTIONS else (*MARKDOWN, "options"):
            held = getattr(proto, field, ())
            texts = [held] if isinstance(held, str) else [getattr(h, "content", h) for h in held]
            found += [f"{kind}.{field}: {t}" for t in texts if isinstance(t, str) and LIVE.search(t)]
        plain = [getattr(proto, field, "") for field in AS_IT_IS]
        plain += list(getattr(proto, "options", ())) if kind in PLAIN_OPTIONS else []
        found += [f"{kind}: {t}" for t in plain if isinstance(t, str) and ESCAPED.search(t)]
    return found


def silent(at):
    """Controls without help, and charts or tables without words. Text, tiles and links are no controls."""
    found = []
    for element in elements(at):
        proto = getattr(element, "proto", None)
        descriptor = getattr(proto, "DESCRIPTOR", None)
        if descriptor is None or getattr(element, "children", None):
            continue
        known, label = {f.name for f in descriptor.fields}, str(getattr(proto, "label", ""))
        says = element.type in TEXT or (element.type in BUTTONS and bool(label.strip()))
        if "help" in known and not says and not proto.help:
            found.append(f"no help: {element.type} {label!r}")
        if "alt" in known and not proto.alt:
            found.append(f"no alt: {element.type} {getattr(proto, 'id', '')[-60:]}")
    return found
