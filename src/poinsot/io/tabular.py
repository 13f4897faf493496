"""CSV through Polars.

A CSV file is read as numbers first. If that fails it is read again as text, which allows blanks around numbers and
names the first cell that is not a number: correct files are read fast, others get a clear message. Columns with dates
and times are text in any case, and so are those with lists: `q[2]` is the third number of the cells of q.
"""

from __future__ import annotations

import csv
import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product, takewhile
from pathlib import Path
from typing import Any

import polars as pl

from ..exceptions import InvalidRecording, UnreadableFile, listing
from .readers import Reader
from .sources import Columns, Source, column_not_found
from .units import DATES

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", " ": "a blank"}
EMPTY = ["", "NULL", "null", "NA", "N/A", "None"]
"""Texts that mark a cell without a value."""

PREAMBLE = 64
"""Maximum number of lines above the first row of numbers."""
MOST_UNIT_LINES = 2
"""Maximum number of lines between the header and the first row."""
LONGEST_LINE = 1 << 20
"""Maximum length of the first line. [characters]"""

LIST = re.compile(r"[\[(]([^\[\](){}]*)[\])]")
"""A cell with a list: [0.1, 0.2], (0.1; 0.2), [0.1 0.2]."""
BETWEEN_ITEMS = r"[,;\s]+"
ITEM = re.compile(r"(.+)\[(\d+)\]")
"""Name of a column of lists and number of an item."""

_POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def read_csv(source: Source) -> Columns:
    """The wanted columns of a CSV file."""
    path = Path(source.path)
    delimiter = source.delimiter or ("\t" if path.suffix.lower() == ".tsv" else ",")
    first_line = _first_line(path, source.skip_lines)
    cells = _header(first_line, delimiter)
    if source.header:
        _refuse_repeated(path, cells)
        source = replace(source, skip_lines=source.skip_lines + _below_header(source, delimiter))
    indices = {name: _column_index(source, name, cells, first_line, delimiter) for name in source.wanted}
    wanted = {str(index): name for name, index in indices.items()}
    items = {name: _item(name, cells) for name in indices}
    lists = {str(indices[name]) for name, item in items.items() if item is not None}
    numbers = {
        k: pl.String if name in source.dated or k in lists else pl.Float64 for k, name in wanted.items()
    }
    try:
        table = _numbers(source, _read(source, delimiter, len(cells), numbers), wanted, lists)
    except _POLARS_ERRORS:
        text = dict.fromkeys(wanted, pl.String)
        try:
            table = _numbers(source, _read(source, delimiter, len(cells), text), wanted, lists)
        except _POLARS_ERRORS as error:
            raise _not_csv(source, delimiter, len(cells), error) from error
    # The usual case first: looking for blank lines passes over the whole table.
    if len(table) and all(cell is None for cell in table.row(-1)):
        filled = table.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
        table = table.head(filled[-1] + 1 if len(filled) else 0)
    return {
        name: (
            table[str(index)].list.get(item, null_on_oob=True) if item is not None else table[str(index)]
        ).to_numpy()
        for (name, index), item in zip(indices.items(), items.values(), strict=True)
    }


def list_csv(path: Path) -> tuple[dict[str, Any], str]:
    """The header of a CSV file, for scripts (schema `poinsot.columns/1`) and as text; among the content the keys of
    `Source` that it needs, delimiter and decimal comma.
    """
    _first_line(path, 0)  # refuses what is no text
    with path.open(encoding=_encoding(path), errors="replace", newline="") as file:
        some = islice(iter(lambda: file.readline(LONGEST_LINE), ""), PREAMBLE)
        lines = [line.rstrip("\r\n") for line in some]
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    sample = next((line for line in lines[::-1] if line.strip()), "")

    def score(sign: tuple[str, bool]) -> int:
        """Number of cells with numbers less that of others: the lines below the header tell the signs."""
        cells = [cell for line in lines for cell in _cells(line, *sign) if cell]
        return sum(1 if _is_number(cell) or _items(cell) else -1 for cell in cells)

    delimiter, comma = max(product(dict.fromkeys([usual, *DELIMITERS]), (False, True)), key=score)
    width = len(_split(sample, delimiter))
    rows = [
        len(_split(line, delimiter)) == width and any(map(_is_number, _cells(line, delimiter, comma)))
        for line in lines
    ]
    first = rows.index(True) if True in rows else 0
    named = [k for k in range(first) if len(_header(lines[k], delimiter)) == width]
    if first == 0 and rows[:1] == [True] and all(map(_is_number, _cells(lines[0], delimiter, comma))):
        names = [str(k) for k in range(width)]
        keys: dict[str, Any] = {"header": False} | ({"delimiter": delimiter} if delimiter != usual else {})
        content: dict[str, Any] = {"schema": "poinsot.columns/1", "log": path.name, "columns": names}
        content["source"] = keys | ({"decimal_comma": True} if comma else {})
        return content, "\n".join([path.name, *names])
    if True not in rows or not named:
        raise UnreadableFile(f"{path} is no table of numbers below a line with the names of their columns")
    header = next(k for k in named if named[-1] - k == len(named) - 1 - named.index(k))
    cells = _header(lines[header], delimiter)
    _refuse_repeated(path, cells)
    keys = {"delimiter": delimiter} if delimiter != usual else {}
    keys |= ({"skip_lines": header} if header else {}) | ({"decimal_comma": True} if comma else {})
    samples = [_split(line, delimiter) for line, is_row in zip(lines, rows, strict=True) if is_row]
    counts = [max(len(_items(row[k])) for row in samples) for k in range(width)]
    names = [
        name
        for cell, count in zip(cells, counts, strict=True)
        for name in ([f"{cell}[{k}]" for k in range(count)] if count else [cell])
    ]
    content = {"schema": "poinsot.columns/1", "log": path.name, "columns": names}
    if first > header + 1:  # a line of units below the names
        units = dict(zip(cells, _header(lines[header + 1], delimiter), strict=True))
        content["units"] = {name: units[name if name in units else name.rpartition("[")[0]] for name in names}
    return content | ({"source": keys} if keys else {}), "\n".join([path.name, *names])


def _items(cell: str) -> list[str]:
    """The items of a cell with a list of numbers; none of another cell."""
    if (match := LIST.fullmatch(cell)) is None:
        return []
    items = re.split(BETWEEN_ITEMS, match[1].strip(" ,;"))
    return items if all(map(_is_number, items)) else []


def _header(line: str, delimiter: str) -> list[str]:
    """The cells of a line without the mark of a comment before the first."""
    return _split(line.lstrip("#% ") if line.startswith(("#", "%")) else line, delimiter)


def _cells(line: str, delimiter: str, decimal_comma: bool) -> list[str]:
    cells = _split(line, delimiter)
    return [cell.replace(",", ".") for cell in cells] if decimal_comma and delimiter != "," else cells


def _below_header(source: Source, delimiter: str) -> int:
    """Number of lines without any number between the header and the first row, such as a line of units."""
    with Path(source.path).open(encoding=_encoding(Path(source.path)), errors="replace", newline="") as file:
        lines = islice(iter(lambda: file.readline(LONGEST_LINE), ""), source.skip_lines + 1, PREAMBLE)
        cells = (_cells(line.strip(), delimiter, source.decimal_comma) for line in lines)
        without = list(takewhile(lambda row: any(row) and not any(map(_is_number, row)), cells))
    # rows of text are no units: the reader names their first cell
    return len(without) if len(without) <= MOST_UNIT_LINES else 0


def _refuse_other_files(path: str | Path, names: Sequence[str], cells: Sequence[str]) -> None:
    """Refuse a file whose second line has no numbers for the names: its first line may be anything, and is not told."""
    if len(names) != len(cells) or not any(map(_is_number, cells)):
        raise UnreadableFile(f"{path} is no table of numbers below a line with the names of their columns")


def _refuse_repeated(path: Path, cells: Sequence[str]) -> None:
    repeated = [cell for cell, count in Counter(cells).items() if cell and count > 1]
    if repeated:
        raise UnreadableFile(
            f"{path} has more than one column {listing(map(repr, repeated))}: rename them, or set header = false and "
            "skip_lines, and name columns by their index from 0"
        )


def _read(
    source: Source, delimiter: str, width: int, wanted: Mapping[str, type[pl.DataType]]
) -> pl.DataFrame:
    # The header is skipped: columns are named by their index here, since empty headers may repeat.
    # All columns are read, since Polars counts the cells of a line only then.
    return pl.read_csv(
        _joined_blanks(Path(source.path)) if delimiter == " " else source.path,
        encoding="utf8" if _encoding(Path(source.path)) == "utf-8-sig" else "utf8-lossy",
        separator=delimiter,
        has_header=False,
        skip_lines=source.skip_lines + source.header,
        schema={str(k): wanted.get(str(k), pl.String) for k in range(width)},
        decimal_comma=source.decimal_comma,
    ).select(list(wanted))


def _joined_blanks(path: Path) -> Path | bytes:
    """The text of a file whose columns are aligned by blanks, with one between two cells; the file if it is so."""
    text = path.read_bytes()
    if re.search(rb"^[ \t]|  |[ \t]\r?$", text, re.MULTILINE) is None:
        return path
    return b"\n".join(b" ".join(line.split()) for line in text.splitlines())


def _numbers(
    source: Source, text: pl.DataFrame, headers: Mapping[str, str | int], lists: Collection[str]
) -> pl.DataFrame:
    """Convert columns of text to numbers, ignoring blanks around them; an error names the first other cell. `lists`:
    columns that become lists of numbers.
    """
    columns = {}
    for name in text.columns:
        columns[name] = text[name]
        if text[name].dtype == pl.Float64:
            continue
        if name in lists:
            items = text[name].str.strip_chars("[]() ,;").str.replace_all(BETWEEN_ITEMS, " ").str.split(" ")
            columns[name] = items.cast(pl.List(pl.Float64), strict=False)
            continue
        cells = text[name].str.strip_chars()
        cells = cells.set(cells.is_in(EMPTY), None)
        if source.decimal_comma:
            cells = cells.str.replace(",", ".", literal=True)
        dated = headers[name] in source.dated
        # Polars reads no leading plus sign, and loggers write them.
        numbers = (
            epoch_seconds(cells) if dated else cells.str.strip_prefix("+").cast(pl.Float64, strict=False)
        )
        bad = (numbers.is_null() & cells.is_not_null()).arg_true()
        if len(bad):
            row, cell, advice = bad[0], str(cells[bad[0]]), ""
            if row == 0 and not source.header:
                advice = "; if the first line names the columns, set header = true"
            elif not dated and epoch_seconds(cells[row : row + 1]).is_not_null().all():
                advice = f'; if the column has dates and times, set unit = "{DATES}"'
            elif cell.count(",") == 1 and cell.replace(",", "").lstrip("+-").isdigit():
                advice = "; if that is a decimal comma, set decimal_comma = true"
            shown = cell if len(cell) <= 30 else cell[:30] + "..."
            kind = "date and time" if dated else "number"
            line = row + 1 + source.skip_lines + source.header
            raise UnreadableFile(
                f"{source.path}: column {headers[name]!r} holds the text {shown!r} instead of a {kind} "
                f"in row {row} (counted from 0; line {line} of the file){advice}"
            )
        columns[name] = numbers
    return pl.DataFrame(columns)


def epoch_seconds(cells: pl.Series) -> pl.Series:
    """Seconds since 1970 (UTC) of dates and times; null where a cell is none. `cells`: of Polars' type of dates, of
    times of day or of durations, or text in ISO 8601, as 2026-05-04T12:00:00.125+02:00, also with a blank for the T, a
    decimal comma, or no separators. What has no time zone is taken as UTC.
    """
    if cells.dtype == pl.String:
        text = cells.str.replace(r"^(\d\d?:\d\d:\d\d)", "1970-01-01T$1")  # a time of day
        text = text.str.replace(r"[ t]", "T").str.replace(",", ".", literal=True)
        text = text.str.replace(r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)", "$1-$2-${3}T$4:$5:")
        text = text.str.replace(r" ?(Z|z|UTC)$", "+00:00").str.replace(r"(T[^+-]*)$", "$1+00:00")
        cells = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="ns", strict=False)
    n = {"ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(cells.dtype, "time_unit", "ns")]
    # the whole seconds apart: nanoseconds since 1970 have more digits than a number of 64 bits
    return (cells.to_physical() // n).cast(pl.Float64) + (cells.to_physical() % n) / n


def _not_csv(source: Source, delimiter: str, width: int, error: BaseException) -> UnreadableFile:
    """The error for a file that Polars cannot read, usually because a line is longer than the first."""
    with Path(source.path).open(encoding="utf-8", errors="replace", newline="") as file:
        for number, line in enumerate(file, start=1):
            is_row = number > source.skip_lines and len(line) < LONGEST_LINE
            if is_row and (length := len(_split(line, delimiter))) > width:
                return UnreadableFile(
                    f"{source.path}: line {number} has {length} cells, the first line has {width}"
                )
    # the first line of the library's message, without its advice on its own arguments
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:;")
    return UnreadableFile(f"{source.path} cannot be read as CSV: {reason}")


def _encoding(path: Path) -> str:
    """UTF-8, or what Excel writes in Western Europe: numbers are the same in both, and headers have degrees."""
    with path.open("rb") as file:
        start = file.read(LONGEST_LINE)
    try:
        getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "utf-8-sig" if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "cp1252"
    return "utf-8-sig"


def _first_line(path: Path, skip_lines: int, empty: bool = False) -> str:
    try:
        # Excel writes a byte order mark; a binary file may have no line break, hence the longest line
        with path.open(encoding=_encoding(path), newline="") as file:
            lines = iter(lambda: file.readline(LONGEST_LINE), "")
            line = next(islice(lines, skip_lines, None), "")
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path} is not a text file in UTF-8; if it is CSV, save it in UTF-8") from None
    except OSError as error:
        raise UnreadableFile(f"cannot read {path}: {error.strerror or error}") from error
    if not (line.strip() or empty):
        raise UnreadableFile(f"{path} is empty")
    if "\0" in line:
        raise UnreadableFile(f"{path} is not a text file")
    return line.rstrip("\r\n")


def _split(line: str, delimiter: str) -> list[str]:
    try:
        blanks = delimiter == " "  # several are one
        reader = csv.reader([line.strip() if blanks else line], delimiter=delimiter, skipinitialspace=blanks)
        return [cell.strip() for cell in next(reader, [])]
    except csv.Error:  # a cell of more than 131 072 characters, or a line break of another kind in it
        return [line]


def _column_index(source: Source, name: str | int, cells: Sequence[str], line: str, delimiter: str) -> int:
    """Index of a column; raises an error with advice if there is none."""
    if source.header and all(_is_number(cell) for cell in cells):
        raise UnreadableFile(
            f"{source.path} has no header, its first line is all numbers: "
            "set header = false and name columns by their index from 0"
        )
    if (index := _place(source, name, cells)) is not None:
        return index
    # A wrong delimiter explains a missing column better than a misspelt name does.
    if (better := _delimiter_that_splits(source, line, delimiter)) is not None:
        raise UnreadableFile(
            f"{source.path} is not separated by {DELIMITERS.get(delimiter, repr(delimiter))} but by "
            f"{DELIMITERS[better]}: set delimiter = {json.dumps(better)}"
        )
    if isinstance(name, int):
        raise UnreadableFile(f"{source.path} has no column {name}: it has {len(cells)}, counted from 0")
    if not source.header:
        raise InvalidRecording(
            f"{source.path} is read without a header, so column {name!r} cannot be found: "
            f"give its index, 0 to {len(cells) - 1}, or set header = true"
        )
    second = _first_line(Path(source.path), source.skip_lines + 1, empty=True)
    _refuse_other_files(source.path, cells, _split(second, delimiter))
    raise column_not_found(Path(source.path), name, cells)


def _place(source: Source, name: str | int, cells: Sequence[str]) -> int | None:
    if isinstance(name, str) and not source.header and name.isdecimal():
        name = int(name)
    if isinstance(name, int):
        return name if 0 <= name < len(cells) else None
    if source.header and name.strip() in cells:
        return cells.index(name.strip())
    match = ITEM.fullmatch(name.strip())
    return cells.index(match[1]) if match and source.header and match[1] in cells else None


def _item(name: str | int, cells: Sequence[str]) -> int | None:
    """Number of the item of a list in the cells of a column that a name means; None: the cells are numbers."""
    if isinstance(name, int) or name.strip() in cells or (match := ITEM.fullmatch(name.strip())) is None:
        return None
    return int(match[2])


def _delimiter_that_splits(source: Source, line: str, delimiter: str) -> str | None:
    """A delimiter with which every wanted column exists, if this one is wrong."""
    for candidate in DELIMITERS:
        cells = _split(line, candidate)
        if candidate != delimiter and None not in [_place(source, name, cells) for name in source.wanted]:
            return candidate
    # some column is missing under every delimiter; report the delimiter if this one does not split the line at all
    best = max((each for each in DELIMITERS if each != " "), key=lambda each: len(_split(line, each)))
    return best if len(_split(line, delimiter)) == 1 < len(_split(line, best)) else None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


TEXT = Reader(read_csv, list_csv)
