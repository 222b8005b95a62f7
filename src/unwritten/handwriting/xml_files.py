"""XML from files that strangers made: parsed without entities, errors named."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from unwritten.errors import UnwrittenError


def parse_xml(path: Path) -> Element:
    """The root element.

    Raises:
        UnwrittenError: the file cannot be read, is no XML, or declares entities, which these formats never need.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import parse

    try:
        root = parse(path).getroot()
    except (OSError, ParseError, DefusedXmlException, ValueError) as error:
        raise UnwrittenError(f"{path}: cannot be read as XML ({error}); give a whole, plain file") from error
    if root is None:
        raise UnwrittenError(f"{path}: is an empty XML file; give a whole one")
    return root


def local_name(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]
