"""The store: looks every second at the workspaces in use and saves those that have changed."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from nona.ui.session.disk.files import sweep
from nona.ui.session.disk.reading import read_workspace
from nona.ui.session.disk.saved import UPLOADS
from nona.ui.session.disk.snapshot import Snapshot
from nona.ui.session.disk.writing import Texts, write_workspace
from nona.ui.session.state import AppState

BEAT_S = 1.0
LONGEST_S = 4.0  # between a change and its being saved
IDLE_SHARE = 20  # a workspace that takes long to write waits that many times as long


@dataclass
class _Watched:
    """A workspace in use: its state, what was saved last, when the next look is."""

    state: AppState
    saved: Snapshot | None = None
    texts: Texts = field(default_factory=Texts)
    next_look: float = 0.0
    leaving: bool = False


class Store:
    """Workspaces below a folder, each under the hash of its token: who lists the folder learns no token.

    Parameters
    ----------
    folder
        Where workspaces are kept; made when the first is saved.
    beat_s
        Seconds between two looks.
    """

    def __init__(self, folder: Path, beat_s: float = BEAT_S) -> None:
        self.folder, self.problem = folder, ""
        self._beat_s = beat_s
        self._watched: dict[str, _Watched] = {}
        self._lock, self._writing = threading.Lock(), threading.Lock()
        sweep(folder)

    def start(self) -> None:
        """Save from now on, in a thread of its own."""
        threading.Thread(target=self._run, daemon=True, name="workspaces").start()

    def place(self, token: str) -> Path:
        """The folder of a workspace."""
        return self.folder / hashlib.sha256(token.encode()).hexdigest()[:32]

    def watch(self, token: str, state: AppState) -> None:
        """Save the workspace whenever it changes."""
        with self._lock:
            held = self._watched.get(token)
            if held is None or held.state is not state:
                self._watched[token] = _Watched(state)
            else:
                held.leaving = False

    def retire(self, token: str) -> None:
        """Save it once more, then watch it no longer."""
        with self._lock:
            held = self._watched.get(token)
            if held is not None:
                held.leaving, held.next_look = True, 0.0

    def load(self, token: str) -> AppState | None:
        """The workspace of that token, if one is kept."""
        with self._lock:
            held = self._watched.get(token)
        if held is not None:
            return held.state
        try:
            state = read_workspace(self.place(token))
        except OSError as error:
            self.problem = _problem(self.folder, error)
            return None
        if state is not None:
            now = time.time()
            _touch(self.place(token), now)
        return state

    def flush(self) -> None:
        """Save all that has changed, now."""
        with self._lock:
            all_ = list(self._watched.items())
        for token, held in all_:
            self._look(token, held)

    def _run(self) -> None:
        while True:
            time.sleep(self._beat_s)
            now = time.monotonic()
            with self._lock:
                due = [(t, h) for t, h in self._watched.items() if h.next_look <= now]
            for token, held in due:
                self._look(token, held)

    def _look(self, token: str, held: _Watched) -> None:
        with self._writing:
            begun = time.monotonic()
            try:
                self._save(token, held)
                self.problem = ""
            except OSError as error:
                if not self.problem:
                    self.problem = _problem(self.folder, error)
                    print(self.problem, file=sys.stderr)
            except Exception as error:  # a workspace that cannot be written must not stop the others
                self.problem = f"Workspace: it is not saved ({type(error).__name__}); download its bundle."
                print(self.problem, file=sys.stderr)
            took = time.monotonic() - begun
            held.next_look = time.monotonic() + min(took * IDLE_SHARE, LONGEST_S - BEAT_S)
        if held.leaving and not self.problem:
            with self._lock:
                if held.leaving and self._watched.get(token) is held:
                    del self._watched[token]

    def _save(self, token: str, held: _Watched) -> None:
        place = self.place(token)
        held.state.uploads.bring_back(place / UPLOADS)
        shot = Snapshot.of(held.state)
        if shot.same(held.saved) or (held.state.untouched and not place.exists()):
            return
        write_workspace(place, held.state.uploads.folder, shot, held.texts)
        held.saved = shot


def _problem(folder: Path, error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    return (
        f"Folder {folder}: workspaces are not saved ({reason}); free space there, or name another folder "
        "in NONA_DATA_DIR."
    )


def _touch(folder: Path, now: float) -> None:
    """Note the use: the age of a workspace counts from it."""
    for path in folder.glob("*.json"):
        try:
            os.utime(path, (now, now))
        except OSError:
            return
