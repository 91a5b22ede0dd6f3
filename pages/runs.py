"""Saved: runs that somebody chose to keep, listed, opened, compared, exported and imported."""

from nona.app.pages.runs import saved_page
from nona.app.session.workspace import current

saved_page(current())
