"""The session's model as it is chosen: an upload that is not read yet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nona.errors import NonaError
from nona.sources.lookup import safe_name
from nona.ui.session.state import AppState

UPLOAD_ERROR = "upload-error"  # the complaint about a model file


@dataclass(frozen=True, slots=True)
class Choosing:
    """An upload that is not read yet, and the model before it.

    ``replaced`` is what a file of the same name held; ``again`` unfolds the upload once more, for the reason
    why a file was not taken; ``asks`` is the upload in single precision that is
    asked about.
    """

    unread: str = ""
    before: str = ""
    replaced: bytes | None = None
    again: bool = False
    asks: str = ""


def take_model(state: AppState, name: str, data: bytes) -> bool:
    """Make an uploaded file the session's model, to be read by page Models; whether there was room."""
    choosing, name = state.choices.of(Choosing), safe_name(name)
    state.choices.complaints.pop(UPLOAD_ERROR, None)
    replaced = state.uploads.sources.read(name) if name in state.uploads.names() else None
    try:
        state.uploads.add(name, data)
    except NonaError as error:
        state.choices.complaints[UPLOAD_ERROR] = str(error)
        return False
    state.choices.keep(replace(choosing, unread=name, before=state.model, replaced=replaced))
    state.model = name
    return True
