"""Cost: model graph × device → seconds and bytes, with provenance."""
