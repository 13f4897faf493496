"""Write estimates as pages: one HTML file that opens offline.

A page is a list of sections, a section is a list of blocks (a table, a grid of figures, ...), and a block has a
template:

    numbers, words               how a value and a name are written
    verdicts                     how well a parameter is known, and the shares of data and prior
    blocks                       the content of sections
    tables, bodies, figures/     estimate -> blocks, pure functions; figures are plain dicts for Plotly
    sections/                    the identify page, one file a section, in the order of its registry
    page                         templates, Plotly's code inlined once, and the atomic write
    pages                        one function per verb
"""

from .blocks import (
    Figure as Figure,
    FigureGrid as FigureGrid,
    PageBlock as PageBlock,
    Section as Section,
    Table as Table,
    TableColumn as TableColumn,
)
from .figures.curves import curve_figure as curve_figure
from .pages import write_inspection_page as write_inspection_page, write_report as write_report
from .tables import table_of_rows as table_of_rows
