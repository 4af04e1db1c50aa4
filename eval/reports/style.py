"""The style of a report's page: for any width, light and dark mode, and print."""

from __future__ import annotations

from eval.reports.svg import DARK, LIGHT


def _series(colours: tuple[str, ...]) -> str:
    return "; ".join(f"--series-{position}: {colour}" for position, colour in enumerate(colours))


STYLE = f"""
:root {{ color-scheme: light dark; --page: #fff; --text: #1a202c; --quiet: #4a5568; --rule: #d8dee6; --stripe: #f5f7fa;
  --link: #2b6cb0; {_series(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --page: #14181f; --text: #e8ecf1; --quiet: #a9b4c2; --rule: #343c48;
  --stripe: #1c222b; --link: #63b3ed; {_series(DARK)} }} }}
* {{ box-sizing: border-box }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem;
  background: var(--page); color: var(--text) }}
h1, h2, nav, p, li, figcaption, summary {{ overflow-wrap: anywhere }}
h1 {{ font-size: clamp(1.4rem, 5vw, 2rem); line-height: 1.2 }}
h2, summary {{ font-size: 1.2rem; font-weight: 600; line-height: 1.3 }}
h2 {{ margin: 2.5rem 0 .75rem }}
summary {{ font-size: 1rem; padding: .4rem 0; cursor: pointer }}
a {{ color: var(--link) }}
nav ul {{ columns: 20rem; padding-left: 1.2rem; margin: 0 }}
.made, figcaption, .notes {{ color: var(--quiet); max-width: 46rem; font-size: .9rem }}
.notes {{ padding-left: 1.2rem }}
.scroll {{ overflow-x: auto; max-width: 100% }}
.scroll:focus-visible, summary:focus-visible, a:focus-visible {{ outline: 2px solid var(--link); outline-offset: 2px }}
table {{ border-collapse: collapse; font-size: .9rem }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top }}
tbody tr:nth-child(even) > * {{ background: var(--stripe) }}
thead th {{ vertical-align: bottom; max-width: 18rem; overflow-wrap: break-word }}
tbody th {{ position: sticky; left: 0; background: var(--page); font-weight: 500; min-width: 7.5rem; max-width: 20rem;
  overflow-wrap: anywhere }}
td.text {{ min-width: 12rem; overflow-wrap: anywhere }}
th.number, td.number {{ text-align: right; font-variant-numeric: tabular-nums }}
td.number {{ white-space: nowrap }}
thead th.number {{ min-width: 6rem }}
tbody th.long {{ min-width: 16rem }}
thead th.long {{ min-width: 12rem }}
.figures {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 2rem;
  align-items: start }}
figure {{ margin: 0; min-width: 0 }}
figure svg {{ display: block; width: 100%; max-width: 32rem; height: auto }}
@media (max-width: 40rem) {{ tbody th.long {{ min-width: 10rem }} tbody th {{ max-width: 10rem }} }}
@media print {{
  :root {{ --page: #fff; --text: #000; --quiet: #333; --rule: #bbb; --stripe: #f5f5f5; {_series(LIGHT)} }}
  body {{ max-width: none; padding: 0; font-size: 9pt }}
  nav {{ display: none }}
  .scroll {{ overflow: visible }}
  td.number {{ white-space: normal }}
  thead {{ display: table-header-group }}
  th, td {{ min-width: 0 !important; padding: .2rem .4rem }}
  tr, figure {{ break-inside: avoid }}
  h2 {{ break-after: avoid }}
  tbody th {{ position: static }}
}}
"""
