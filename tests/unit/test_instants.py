from __future__ import annotations

import pytest

from deepgrep.text import instant, rfc3339


@pytest.mark.parametrize(
    "text",
    [
        "9999-12-31T23:59:59-10:00",
        "9999-12-31T23:59:60Z",
        "0000-01-01T00:00:00+10:00",
        "0000-12-31T23:59:59Z",
        "0000-06-01T00:00:00.000Z",
        "0000-06-01",
        "0001-01-01T00:00:00+00:01",
    ],
)
def test_an_instant_outside_of_the_calendar_is_none(text: str) -> None:
    assert instant(text) is None


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0000-12-31T23:59:59-10:00", "0001-01-01T09:59:59Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("9999-12-31T23:59:59+10:00", "9999-12-31T13:59:59Z"),
    ],
)
def test_the_ends_of_the_calendar_are_instants(text: str, utc: str) -> None:
    found = instant(text)
    assert found is not None
    assert rfc3339(found) == utc
