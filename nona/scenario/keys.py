"""The keys of a scenario file as text, from the schema.

``python -m nona.scenario.keys docs/scenario-file.md`` renews the page's section on them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nona.core.tables import between_marks
from nona.core.text import query_words
from nona.scenario.values import ScenarioPart
from nona.scenario.words import FieldWords, fields_of, parts


def keys_text() -> str:
    """Every part of a scenario with its keys, in Markdown."""
    places = dict[type[ScenarioPart], str]()
    for place, part in parts():
        places.setdefault(part, place)
    return "\n".join(
        f"### {f'`{place}`' if place else 'The whole file'}\n\n{(part.__doc__ or '').splitlines()[0]}\n\n"
        "| key | on pages | meaning | default |\n|---|---|---|---|\n" + "".join(_field_rows(part))
        for part, place in places.items()
    )


def matching_keys(query: str) -> list[str]:
    """Return a line for each key whose place, title or meaning has every word of ``query``.

    None for an empty one.

    >>> matching_keys("dollars held vcpu")
    ['**vCPU-hour, US$** (`serverless.prices.vcpu_hour`): US dollars per hour for a held vCPU. Recollected \
from the ESG paper, not confirmed.']
    """
    wanted = query_words(query)
    lines = (
        f"**{wording.title}** (`{f'{place}.{name}'.lstrip('.')}`): {wording.about}"
        for place, part in parts()
        for name, wording in fields_of(part).items()
    )
    return [line for line in lines if wanted and all(word in line.casefold() for word in wanted)]


def _field_rows(part: type[ScenarioPart]) -> list[str]:
    return [
        f"| `{name}` | {wording.title} | {_meaning(wording)} | {wording.default_text} |\n"
        for name, wording in fields_of(part).items()
    ]


def _meaning(wording: FieldWords) -> str:
    choices = {value: text for value, text in wording.choices.items() if isinstance(value, str)}
    values = "; ".join(f"`{v}`" if text.casefold() == v else f"`{v}`: {text}" for v, text in choices.items())
    bounds = wording.bounds_text[:1].upper() + wording.bounds_text[1:]
    counts = ""
    if wording.when is not None:
        name, whens = wording.when
        values_of = " or ".join(f"`{str(v).lower()}`" for v in (whens() if callable(whens) else whens))
        counts = f"Where `{name}` is {values_of}"
    sentences = (wording.about, f"({values})" * bool(values), bounds, counts)
    return " ".join(f"{one.rstrip('.')}." for one in sentences if one)


def main(page: Path) -> None:
    """Renew the section of the page that stands between its marks."""
    page.write_text(between_marks(page.read_text("utf-8"), keys_text(), "\n"), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
