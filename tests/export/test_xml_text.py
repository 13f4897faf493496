"""Edits of spans: what is not edited stays byte by byte, and what is edited is what a parser reads."""

import xml.etree.ElementTree as ElementTree

import pytest

from poinsot.export.xml_text import XmlText

TEXT = """<?xml version="1.0"?>
<!-- <link name="a comment"/> -->
<robot name='arm' note="1 > 0 &amp; &quot;so&quot;">
  <link name="a">
    <mass value="1"/>  <!-- kg -->
    <size
      x = "1"
      y='2' />
  </link>
  <link name="b"/>
\t<link name="c"></link>
  <link name="d"><mass value="1"/></link>
  <text><![CDATA[ <link name="no link"/> ]]></text>
</robot>
"""

VARIANTS = {
    "as it is": lambda text: text,
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "accents": lambda text: text.replace("kg", "Kilögramm").replace("arm", "bräs"),
}
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)


def parsed(data):
    return [(element.tag, element.attrib) for element in ElementTree.fromstring(data).iter()]


def link(text, name):
    return next(each for each in text.root.all("link") if each.get("name") == name)


@each_variant
def test_elements_and_attributes_are_the_parsers(variant):
    text = XmlText(variant(TEXT).encode())
    found = [
        (each.tag, {name: at.value for name, at in each.attributes.items()}) for each in text.root.walk()
    ]
    assert found == parsed(text.data)
    assert text.root.get("note") == '1 > 0 & "so"'
    for each in text.root.walk():
        span = text.data[each.start : each.end]
        assert span.startswith(f"<{each.tag}".encode())
        assert span.endswith((f"</{each.tag}>".encode(), b"/>"))
        for at in each.attributes.values():
            assert text.data[slice(*at.whole)].strip()[-1:] in b"\"'"


@each_variant
def test_no_edit_changes_nothing(variant):
    data = variant(TEXT).encode()
    assert XmlText(data).edited([]).data == data


@each_variant
def test_an_attribute_changes_alone(variant):
    text = XmlText(variant(TEXT).encode())
    size = link(text, "a").first("size")
    for name, old in (("x", 'x = "1"'), ("y", "y='2'")):
        edited = text.edited([text.set_attribute(size, name, "7")])
        assert edited.data == text.data.replace(old.encode(), old.replace(old[-2], "7").encode())


@each_variant
def test_a_new_attribute_goes_last(variant):
    text = XmlText(variant(TEXT).encode())
    mass = link(text, "a").first("mass")
    edited = text.edited([text.set_attribute(mass, "unit", "kg"), text.set_attribute(mass, "sure", "yes")])
    old, new = b'<mass value="1"/>', b'<mass value="1" unit="kg" sure="yes"/>'
    assert edited.data == text.data.replace(old, new, 1)


def test_attributes_go_and_take_each_others_place():
    text = XmlText(TEXT.encode())
    size = link(text, "a").first("size")
    assert text.edited([text.remove_attribute(size, "x")]).data == text.data.replace(b'\n      x = "1"', b"")
    edited = text.edited([text.replace_attribute(size, "x", "z", "3 4")])
    assert edited.data == text.data.replace(b'x = "1"', b'z="3 4"')


LINES = ["<inertial>", '  <mass value="2"/>', "</inertial>"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        # as its siblings are indented, after the comment of the last line
        (
            "a",
            "      y='2' />\n",
            "      y='2' />\n    <inertial>\n      <mass value=\"2\"/>\n    </inertial>\n",
        ),
        # where there is none, two spaces deeper, or a tab where tabs are used
        (
            "b",
            '<link name="b"/>',
            '<link name="b">\n    <inertial>\n      <mass value="2"/>\n    </inertial>\n  </link>',
        ),
        (
            "c",
            '<link name="c"></link>',
            '<link name="c">\n\t\t<inertial>\n\t\t\t<mass value="2"/>\n\t\t</inertial>\n\t</link>',
        ),
        # on one line where they are
        (
            "d",
            '<link name="d"><mass value="1"/></link>',
            '<link name="d"><mass value="1"/><inertial><mass value="2"/></inertial></link>',
        ),
    ],
)
@each_variant
def test_a_new_child_is_indented_as_its_surroundings(variant, name, old, new):
    text = XmlText(variant(TEXT).encode())
    edited = text.edited([text.insert(link(text, name), LINES)])
    newline = "\r\n" if b"\r\n" in text.data else "\n"
    expected = text.data.decode().replace(old.replace("\n", newline), new.replace("\n", newline))
    assert edited.data.decode() == expected
    inertial = link(edited, name).first("inertial")
    assert inertial.first("mass").get("value") == "2"


def test_a_text_on_one_line_stays_on_one_line():
    text = XmlText(b'<robot><link name="a"><x/></link><link name="b"/></robot>')
    edited = text.edited([text.insert(link(text, name), LINES) for name in "ab"])
    inertial = '<inertial><mass value="2"/></inertial>'
    expected = f'<robot><link name="a"><x/>{inertial}</link><link name="b">{inertial}</link></robot>'
    assert edited.data.decode() == expected


@each_variant
def test_an_element_goes_with_its_line_if_it_is_alone_on_it(variant):
    text = XmlText(variant(TEXT).encode())
    a, newline = link(text, "a"), b"\r\n" if b"\r\n" in text.data else b"\n"
    lines = b"    <size\n      x = \"1\"\n      y='2' />\n".replace(b"\n", newline)
    assert text.edited([text.remove(a.first("size"))]).data == text.data.replace(lines, b"")
    assert text.edited([text.remove(a.first("mass"))]).data == text.data.replace(b'<mass value="1"/>', b"", 1)


def test_edits_that_overlap_are_a_mistake():
    text = XmlText(TEXT.encode())
    a = link(text, "a")
    with pytest.raises(AssertionError):
        text.edited([text.remove(a), text.set_attribute(a.first("mass"), "value", "3")])
