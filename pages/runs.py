"""Saved: runs that somebody chose to keep, listed, opened, compared, exported and imported."""

from nona.ui.pages.runs import saved_page
from nona.ui.session.workspace import current

saved_page(current())
