"""Pieces of a report in HTML: all text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

Row = Mapping[str, str]
# Middle tones of the charts stand on both grounds; text and rules follow the reader's theme.
STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #14172b; --quiet: #555b75; --line: #d5d9ea;
  --soft: #f4f5fa; --bad: #b42318; --good: #0b7a5f; --accent: #4338ca }
@media (prefers-color-scheme: dark) { :root { --ground: #0e1120; --ink: #e8eaf6; --quiet: #a9b0cf;
  --line: #2b3150; --soft: #171b30; --bad: #fca5a5; --good: #5eead4; --accent: #a5b4fc } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 Inter, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 64px }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere }
h2 { font-size: 1.25rem; margin: 40px 0 8px; padding-top: 12px; border-top: 1px solid var(--line) }
h3 { font-size: 1rem; margin: 20px 0 4px }
p { margin: 6px 0; max-width: 78ch }
.quiet, figcaption, caption { color: var(--quiet); font-size: .9rem }
.bad { color: var(--bad); font-weight: 600 } .good { color: var(--good); font-weight: 600 }
ul.findings { list-style: none; padding: 0; margin: 16px 0 }
ul.findings li { margin: 8px 0; padding: 10px 14px; background: var(--soft); border-radius: 8px;
  border-left: 4px solid var(--accent); overflow-wrap: anywhere }
ul.findings li.bad { border-left-color: var(--bad); color: inherit; font-weight: inherit }
.wide { overflow-x: auto; margin: 10px 0 } .wide:focus-visible { outline: 2px solid var(--accent) }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums }
caption { text-align: left; padding: 4px 0 }
th, td { text-align: left; padding: 6px 10px 6px 0; border-bottom: 1px solid var(--line);
  vertical-align: top }
th { font-weight: 600; white-space: nowrap } td { white-space: nowrap }
td.long { white-space: normal; min-width: 26ch; overflow-wrap: anywhere }
figure { margin: 14px 0; max-width: 760px; overflow-x: auto }
figure svg { width: 100%; min-width: 520px; height: auto; display: block }
svg text { font: 12px Inter, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--ink) }
svg .q { fill: var(--quiet) } svg .g { stroke: var(--line) } svg .s { stroke: var(--bad) }
svg .w { stroke: var(--ink) } svg .st { fill: var(--bad) }
pre { background: var(--soft); border-radius: 8px; padding: 12px 14px; overflow-x: auto; font-size: .85rem;
  line-height: 1.45; font-family: "JetBrains Mono", ui-monospace, Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 10px 0 }
dt { color: var(--quiet) } dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 520px) { main { padding: 18px 12px 40px } h1 { font-size: 1.4rem } }
@media print { :root { --ground: #fff; --ink: #000; --quiet: #444; --line: #bbb; --soft: #f3f3f3;
  --bad: #8a1c12; --good: #075; --accent: #333 } main { max-width: none; padding: 0 }
  h2, h3 { break-after: avoid } figure, tr, li { break-inside: avoid } pre { white-space: pre-wrap } }
"""
# Nothing may be fetched and nothing may run, whatever a file's text tries.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def escape(value: object) -> str:
    """Text escaped for HTML, also inside an attribute; characters that no file may hold become a box.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    shown = "".join(c if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") else "▯" for c in str(value))
    return html.escape(shown, quote=True)


def document(title: str, body: Iterable[str]) -> str:
    """A complete page without other files, requests or scripts."""
    return (
        '<!DOCTYPE html>\n<html lang="en-GB">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A section with its heading; empty where it has no content."""
    told = [p for p in parts if p]
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(told) + "\n</section>" if told else ""


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def bullets(lines: Sequence[tuple[str, str]], kind: str = "") -> str:
    """A list; each line has its CSS class."""
    items = "\n".join(f"<li{_class(c)}>{escape(line)}</li>" for line, c in lines)
    return f"<ul{_class(kind)}>\n{items}\n</ul>" if lines else ""


def facts(pairs: Mapping[str, object]) -> str:
    """A list of names and values."""
    rows = "\n".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in pairs.items())
    return f"<dl>\n{rows}\n</dl>"


def table(rows: Sequence[Row], caption: str, long: Sequence[str] = ()) -> str:
    """A table whose first column heads its rows; ``long`` columns wrap.

    >>> table([], "nothing")
    ''
    """
    if not rows:
        return ""
    columns = list(rows[0])
    head = "".join(f'<th scope="col">{escape(c)}</th>' for c in columns)
    lines = []
    for row in rows:
        cells = [
            f'<th scope="row">{escape(row[c])}</th>'
            if c == columns[0]
            else f"<td{_class('long' if c in long else '')}>{escape(row[c])}</td>"
            for c in columns
        ]
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody>\n</table>\n</div>"
    )


def code(text: str) -> str:
    """Preformatted text, to be copied."""
    return f"<pre><code>{escape(text)}</code></pre>"


def chart(title: str, svg: str, note: str = "") -> str:
    """A chart with its finding as title."""
    caption = f"<figcaption>{escape(note)}</figcaption>" if note else ""
    return f"<figure>\n<h3>{escape(title)}</h3>\n{svg}\n{caption}</figure>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
