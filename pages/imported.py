"""Imported files: the facts and questions in the files of what runs."""

from nona.app.pages.imported import imported_page
from nona.app.session.workspace import current

imported_page(current())
