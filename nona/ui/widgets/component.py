"""Components of our own: a folder's style and scripts, one Streamlit component each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_SHARED, _STYLE = (Path(__file__).parent / f"elements.{kind}" for kind in ("js", "css"))


def declare(folder: Path, name: str, *scripts: str, tag: str = "div") -> Any:
    """The component ``name`` of ``folder``: ``name.css``, and the scripts, which know each other by name.

    They follow ``elements.js`` and ``elements.css``, in the order given, and make one module; by default
    there is one, ``name.js``. The component's root is an element of class ``name``.
    """
    files = [_SHARED, *(folder / f"{script}.js" for script in scripts or (name,))]
    return st.components.v2.component(
        f"nona_{name}",
        html=f'<{tag} class="{name}" data-testid="{name}"></{tag}>',
        css="\n".join(f.read_text(encoding="utf-8") for f in (_STYLE, folder / f"{name}.css")),
        js="\n".join(file.read_text(encoding="utf-8") for file in files),
    )
