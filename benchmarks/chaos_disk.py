"""Attacks on what lies on the disk: full file systems, a cleaner of temporary files, damaged workspaces."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.chaos_kinds import FAN, started
from benchmarks.chaos_site import SAVED_S, Site, fan
from benchmarks.chaos_table import Attack, NotTriedHereError, require
from benchmarks.kept_server import until
from nona.app.session.workspace_files import BROKEN, FILE

ROOM = "2m"
NOT_SAVED, NOT_OPENED = "workspaces are not saved", "Your saved work could not be opened"
FULL_DATA = "the server lives, the page says in one line that nothing is saved; with room again it is saved"
FULL_TEMPORARY = "the server lives, the page says why in one line; with room again the job is accepted"
CLEANED = "no page raises; what went is brought back or named; the next job is accepted"
DAMAGED = "it opens empty and says so; the text is kept, to download"
FOREIGN = "it opens, or it opens empty and a line says why; the text is kept"


@contextmanager
def _small_disk(path: Path) -> Iterator[None]:
    """A file system of 2 MiB at ``path``."""
    path.mkdir(exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={ROOM}", "none"]
    try:
        done = subprocess.run(["mount", *options, str(path)], capture_output=True, text=True)
    except OSError as error:
        raise NotTriedHereError(f"mount: {error}") from None
    if done.returncode:
        raise NotTriedHereError(f"no small file system can be mounted: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], capture_output=True)


def _fill(folder: Path) -> Path:
    """A file that takes all room that is left."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                if file.write(b"x" * 4096) < 4096:
                    return path
            except OSError:
                return path


def full_data() -> str:
    """Fill the file system of the data folder, edit, look, make room, look again."""
    with _site() as site, _small_disk(site.server.data):
        site.open()
        site.rename("Before")
        filler = _fill(site.server.data)
        site.visitor.fill("text_input", "Scenario", "While full")

        def said() -> bool:
            site.visitor.open("guide")
            return site.lines(NOT_SAVED) > 0

        require(until(said, 12), "no line says that workspaces are not saved")
        require(site.lines(NOT_SAVED) == 1, "more than one line says so")
        require(not site.visitor.exceptions(), f"the page shows {site.visitor.exceptions()[:1]}")
        require(site.server.healthy(), "the server does not answer")
        require(site.name() == "While full", "the edit is gone")
        require(site.saved_name() == "Before", "the saved workspace is damaged")
        filler.unlink()
        require(
            until(lambda: site.saved_name() == "While full", 2 * SAVED_S), "it is not saved with room again"
        )
        site.visitor.open("guide")
        require(not site.lines(NOT_SAVED), "the line stays")
    return ""


def full_temporary() -> str:
    """Fill the file system of temporary files, upload and start a job, make room, start it again."""
    kind = started("simulate")
    with _site() as site, _small_disk(site.server.temporary):
        site.open()
        site.rename("Before")
        filler = _fill(site.server.temporary)
        site.upload(FAN, fan(3000))
        site.visitor.open("models")
        lines = [a.body.replace("\\", "") for a in site.visitor.every("alert")]
        require(
            any("No space left" in line for line in lines), f"no line says that there is no space: {lines}"
        )
        require(not site.visitor.exceptions(), f"the page shows {site.visitor.exceptions()[:1]}")
        site.begin(kind)
        require(not site.visitor.exceptions(), f"the page shows {site.visitor.exceptions()[:1]}")
        require(site.server.healthy(), "the server does not answer")
        require(site.name() == "Before", "the edit is gone")
        filler.unlink()
        how = site.follow_up(kind)
        site.check_page()
        require("Traceback" not in site.server.log(), "the log holds a traceback")
    return f"next job {how}"


def cleaned() -> str:
    """Remove everything below the temporary folder in the middle of a session with an upload and a job."""
    kind = started("simulate")
    with _site() as site:
        site.open()
        site.give_fan()
        site.begin(kind)
        for path in site.server.temporary.iterdir():
            shutil.rmtree(path)
        for page in ("models", "scenario", "placement", "simulation", "evidence"):
            site.visitor.open(page)
            require(not site.visitor.exceptions(), f"page {page!r} shows {site.visitor.exceptions()[:1]}")
        site.end(kind)
        how = site.follow_up(kind)
        site.check_page()
        require(site.server.healthy(), "the server does not answer")
        require("Traceback" not in site.server.log(), "the log holds a traceback")
    return f"next job {how}"


Damage = Callable[[Path], None]


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(5000))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in random.Random(1).sample(range(len(data)), 40):
        data[place] ^= 0x80  # of ASCII text no byte stays valid
    path.write_bytes(bytes(data))


def _foreign_owner(path: Path) -> None:
    try:
        os.chown(path, 12345, 12345)
    except OSError as error:
        raise NotTriedHereError(f"the owner of a file cannot be changed: {error}") from None


def _no_mode(path: Path) -> None:
    path.chmod(0)
    if os.access(path, os.R_OK):
        raise NotTriedHereError("this user may read files of any mode (root)")


def damaged_workspace(damage: Damage, empty: bool) -> str:
    """Damage the saved workspace while the server is down; ``empty``: it cannot be opened as it was."""
    with _site() as site:
        site.open()
        site.rename("Before")
        site.server.kill()
        path = site.place() / FILE
        damage(path)
        text = path.read_bytes() if path.is_file() and path.stat().st_mode & stat.S_IRUSR else b""
        site.server.start()
        site.return_to()
        require(not site.visitor.exceptions(), f"the page shows {site.visitor.exceptions()[:1]}")
        output = site.lines(NOT_OPENED) + site.lines(NOT_SAVED)
        require(output == 1 or (not empty and site.name() == "Before"), f"{output} lines say what happened")
        if empty and text:
            require((site.place() / BROKEN).read_bytes() == text, "the text is not kept as it was")
        site.rename("Afterwards")
        require("Traceback" not in site.server.log(), "the log holds a traceback")
        return "opened as it was" if not output else ""


@contextmanager
def _site() -> Iterator[Site]:
    with TemporaryDirectory(prefix="chaos-") as folder:
        site = Site(Path(folder))
        try:
            yield site
        finally:
            site.close()


@contextmanager
def disk() -> Iterator[Iterator[Attack]]:
    """Full file systems, a cleaner, damaged workspaces."""
    rows = [
        Attack("data folder full", FULL_DATA, full_data),
        Attack("temporary folder full", FULL_TEMPORARY, full_temporary),
        Attack("a cleaner empties the temporary folder", CLEANED, cleaned),
    ]
    for name, damage in (
        ("empty", _empty),
        ("truncated", _truncated),
        ("garbage", _garbage),
        ("flipped bits", _flipped),
    ):
        rows.append(Attack(f"workspace: {name}", DAMAGED, partial(damaged_workspace, damage, True)))
    for name, damage in (
        ("a foreign owner", _foreign_owner),
        ("no permission", _no_mode),
    ):
        rows.append(Attack(f"workspace: {name}", FOREIGN, partial(damaged_workspace, damage, False)))
    yield iter(rows)
