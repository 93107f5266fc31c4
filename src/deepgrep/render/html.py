"""A conversation as one HTML file: no script, nothing loaded, all text escaped, readable in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..engine.conversation import Entry
from ..text import safe
from .conversation import Sheet, facts, folded, gap, place, who
from .text import local

# Without it a browser would still load nothing, since there is nothing to load; it says so to whoever looks.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """\
:root { color-scheme: light dark; --text: #1b1b1b; --faint: #666; --page: #fff; --box: #f4f4f2; --person: #0a6b3d; --hit: #b00020; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e6e6; --faint: #9a9a9a; --page: #161616; --box: #222; --person: #6fd39d; --hit: #ff7a8a; }
}
body { margin: 2rem auto; max-width: 54rem; padding: 0 1rem; }
body { color: var(--text); background: var(--page); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; }
dl { color: var(--faint); display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; overflow-wrap: anywhere; }
dd { margin: 0; }
article { border-left: 3px solid var(--box); margin: 1.2rem 0; padding-left: 1rem; }
article.hit { border-color: var(--hit); }
header, .gap { color: var(--faint); font-size: .9rem; }
.person header b { color: var(--person); }
pre { background: var(--box); border-radius: 4px; margin: .3rem 0; overflow-wrap: anywhere; padding: .6rem .8rem; white-space: pre-wrap; }
pre { font: .9rem/1.45 ui-monospace, monospace; }
.person pre, .agent pre { background: none; font: inherit; padding: 0; }
"""


def page(sheet: Sheet) -> Iterator[str]:
    """The lines of the file."""
    title = _text(place(sheet.found))
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title>"
    yield f"<style>\n{_STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield f"<h1>{title}</h1>"
    yield "<dl>"
    for word, line in facts(sheet):
        yield f"<dt>{_text(word)}</dt><dd>{_text(line)}</dd>"
    yield "</dl>"
    if sheet.passage.before:
        yield f'<p class="gap">{gap(sheet.passage.before, "earlier")}</p>'
    for entry in sheet.passage.entries:
        yield from _article(entry, sheet)
    if sheet.passage.after:
        yield f'<p class="gap">{gap(sheet.passage.after, "later")}</p>'
    yield "</body>"
    yield "</html>"


def _article(entry: Entry, sheet: Sheet) -> Iterator[str]:
    record = entry.record
    hit = " hit" if entry.is_hit else ""
    yield f'<article id="r{entry.number}" class="{record.speaker}{hit}">'
    when = local(record.time_us, "%Y-%m-%d %H:%M:%S")
    yield f"<header>{entry.number} <b>{_text(who(record))}</b> <time>{when}</time></header>"
    short, left = folded(record, unfolded=sheet.unfolded)
    yield f"<pre>{_text(short)}</pre>"
    if left:  # the whole text is there, closed: a browser opens it without a script
        yield f"<details><summary>{_text(left)}</summary><pre>{_text(record.text)}</pre></details>"
    yield "</article>"


def _text(text: str) -> str:
    return escape(safe(text), quote=True)
