"""Edits of XML in place: all that is not edited stays byte by byte, comments and white space included.

The standard library's trees do not keep how a file was written. Here expat gives the bytes at which each element starts
and ends, and the attributes of a start tag are found between them; an edit replaces a span of bytes. The text is
well-formed and has no document type (`read_description` checks this), so a start tag ends at the first unquoted `>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from xml.parsers import expat

# Quoted values are matched as a whole, since they may contain a `>`.
_TAG = re.compile(rb"<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>")
_ATTRIBUTE = re.compile(rb"\s+([^\s=/>]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class Edit(NamedTuple):
    """Replacement of the bytes from `start` to before `end` by `text`."""

    start: int
    end: int
    text: str


class Attribute(NamedTuple):
    """An attribute as the parser reads it, and its place. `value`: unescaped. `inside`: first byte between the quotes,
    and the one after the last. `whole`: the same of name, value and the white space before.
    """

    value: str
    inside: tuple[int, int]
    whole: tuple[int, int]


@dataclass(eq=False)
class Element:
    """An element and its place: its start tag from `start` to `tag_end`, all of it to `end`."""

    tag: str
    attributes: dict[str, Attribute]
    start: int
    tag_end: int
    parent: Element | None
    children: list[Element] = field(default_factory=list)
    end: int = 0  # known when the end tag has been seen

    def get(self, name: str, default: str = "") -> str:
        """The value of an attribute."""
        return self.attributes[name].value if name in self.attributes else default

    def all(self, tag: str) -> Iterator[Element]:
        """Children of this tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child of this tag."""
        return next(self.all(tag), None)

    def walk(self) -> Iterator[Element]:
        """The element and all elements below it, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, eq=False)
class XmlText:
    """A well-formed text."""

    data: bytes

    @cached_property
    def root(self) -> Element:
        return _parse(self.data)

    def edited(self, edits: Iterable[Edit]) -> XmlText:
        """The text with these edits, which must not overlap; insertions at one place stay in their order."""
        pieces, done = [], 0
        for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
            assert start >= done, "edits overlap"
            pieces += [self.data[done:start], text.encode()]
            done = end
        return XmlText(b"".join([*pieces, self.data[done:]]))

    def set_attribute(self, element: Element, name: str, value: str) -> Edit:
        """Set an attribute's value, which needs no escaping; a new attribute goes last."""
        if name in element.attributes:
            return Edit(*element.attributes[name].inside, value)
        name_end = element.start + 1 + len(element.tag.encode())
        last = max((at.whole[1] for at in element.attributes.values()), default=name_end)
        return Edit(last, last, f' {name}="{value}"')

    def remove_attribute(self, element: Element, name: str) -> Edit:
        return Edit(*element.attributes[name].whole, "")

    def replace_attribute(self, element: Element, old: str, name: str, value: str) -> Edit:
        """Replace an attribute by another one."""
        whole = element.attributes[old].whole
        written = self.data[slice(*whole)].decode()
        space = written[: len(written) - len(written.lstrip())]
        return Edit(*whole, f'{space}{name}="{value}"')

    def insert(self, parent: Element, lines: Sequence[str]) -> Edit:
        """Insert a last child of an element, `lines` with two spaces a level; on one line where its siblings are."""
        outer = self._indentation(parent)
        # Indented like its siblings; without any, a step deeper than the element.
        inner = next(filter(None, map(self._indentation, parent.children)), None)
        on_one_line = parent.children and b"\n" not in self.data[parent.start : parent.end]
        if inner is None and outer is not None and not on_one_line:
            inner = outer + ("\t" if "\t" in outer else "  ")
        step = inner.removeprefix(outer or "") if inner is not None and inner != outer else "  "
        if inner is None:
            block, before_end = "".join(line.strip() for line in lines), ""
        else:
            deep = [(len(line) - len(line.lstrip())) // 2 for line in lines]
            block = self._newline.join(
                inner + depth * step + line.strip() for depth, line in zip(deep, lines, strict=True)
            )
            before_end = self._newline + (outer or "")
        if _closes_itself(self.data, parent):
            # <a/> becomes <a>...</a>.
            slash = self.data.rindex(b"/", 0, parent.tag_end)
            tag_end = len(self.data[:slash].rstrip())
            opening = self._newline if inner is not None else ""
            return Edit(tag_end, parent.tag_end, f">{opening}{block}{before_end}</{parent.tag}>")
        end_tag = self.data.rindex(b"</", 0, parent.end)
        line_start = self._line_start(end_tag)
        if inner is not None and not self.data[line_start:end_tag].strip():
            return Edit(line_start, line_start, block + self._newline)
        opening = self._newline if inner is not None else ""
        return Edit(end_tag, end_tag, f"{opening}{block}{before_end}")

    def remove(self, element: Element) -> Edit:
        """Remove an element, and its lines where nothing else is on them."""
        line_start = self._line_start(element.start)
        line_end = self.data.find(b"\n", element.end) + 1 or len(self.data)
        alone = not (self.data[line_start : element.start] + self.data[element.end : line_end]).strip()
        return Edit(line_start, line_end, "") if alone else Edit(element.start, element.end, "")

    @property
    def _newline(self) -> str:
        return "\r\n" if b"\r\n" in self.data else "\n"

    def _line_start(self, position: int) -> int:
        return self.data.rfind(b"\n", 0, position) + 1

    def _indentation(self, element: Element) -> str | None:
        """The white space before an element, if nothing else is before it on its line, which is not the first."""
        start = self._line_start(element.start)
        before = self.data[start : element.start]
        return before.decode() if start and not before.strip() else None


def _parse(data: bytes) -> Element:
    parser = expat.ParserCreate("utf-8")
    # Attributes in the order of the text, as the spans are found.
    parser.ordered_attributes = True
    roots: list[Element] = []
    open_elements: list[Element] = []

    def started(tag: str, attributes: list[str]) -> None:
        # In bytes, not characters, like all spans here.
        start = parser.CurrentByteIndex
        written = _TAG.match(data, start)
        assert written is not None, "expat has accepted this tag"
        spans = [
            (at.span(2 if at[2] is not None else 3), at.span())
            for at in _ATTRIBUTE.finditer(data, start, written.end())
        ]
        named = zip(attributes[::2], attributes[1::2], spans, strict=True)
        parent = open_elements[-1] if open_elements else None
        element = Element(
            tag,
            {name: Attribute(value, *where) for name, value, where in named},
            start,
            written.end(),
            parent,
        )
        (parent.children if parent else roots).append(element)
        open_elements.append(element)

    def ended(tag: str) -> None:
        element = open_elements.pop()
        # At the end of <a/> expat is still at its start tag: there is no end tag to look for.
        closed = _closes_itself(data, element)
        element.end = element.tag_end if closed else data.index(b">", parser.CurrentByteIndex) + 1

    parser.StartElementHandler, parser.EndElementHandler = started, ended
    parser.Parse(data, True)
    return roots[0]


def _closes_itself(data: bytes, element: Element) -> bool:
    """Whether an element has no end tag: <like this/>."""
    return data[element.tag_end - 2 : element.tag_end] == b"/>"
