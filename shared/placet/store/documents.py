"""Documents as BSON, the one form that every store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any, Final

import bson
from bson.codec_options import CodecOptions
from bson.errors import InvalidBSON, InvalidDocument

from placet.errors import TooLarge
from placet.store.port import BadStatement, Document

OPTIONS: Final[CodecOptions[dict[str, Any]]] = CodecOptions(tz_aware=True, tzinfo=UTC)
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of the largest document, MongoDB's own limit and so everybody's."""


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the BSON of `document`; raises `BadStatement` for what BSON cannot hold."""
    try:
        return bson.encode(document, codec_options=OPTIONS)
    except (InvalidDocument, InvalidBSON, OverflowError, UnicodeEncodeError) as error:
        raise BadStatement(f"this cannot be stored: {error}") from error


def encode_document(document: Mapping[str, Any]) -> bytes:
    """Return the BSON of a whole document; raises `TooLarge` over 16 MiB."""
    if not isinstance(document.get("_id"), str):
        raise BadStatement("a document needs an _id that is a string")
    data = encode(document)
    if len(data) > LARGEST:
        raise TooLarge(f"document {document['_id']} has {len(data)} bytes, the limit is {LARGEST}")
    return data


def decode(data: bytes) -> Document:
    """Return the document in `data`, with aware datetimes in UTC."""
    return bson.decode(data, codec_options=OPTIONS)
