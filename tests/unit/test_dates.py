from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from deepgrep.engine.resolve import query as request
from deepgrep.errors import UsageError
from deepgrep.query import dates
from deepgrep.query.dates import day_of, end_of, start_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Zones with whole and odd offsets, and days on which clocks change: at night, at midnight, by half an hour.
ZONES = [
    ("UTC", "2026-03-29"),
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("Asia/Kolkata", "2026-01-31"),
    ("Asia/Kathmandu", "2026-01-31"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Pacific/Kiritimati", "2026-01-01"),
    ("Pacific/Pago_Pago", "2026-01-01"),
    ("Africa/Cairo", "2026-04-24"),
    ("Africa/Cairo", "2026-10-30"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Havana", "2026-03-08"),
    ("America/St_Johns", "2026-03-08"),
]


def _us(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _first_moment(day: date, zone: ZoneInfo) -> int:
    """The first minute whose local date is this day, by trying them all from two days before on."""
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
    while moment.astimezone(zone).date() < day:
        moment += timedelta(minutes=1)
    return _us(moment)


@pytest.mark.parametrize(("name", "text"), ZONES)
def test_a_day_is_what_the_reader_s_clock_calls_so(zone: Callable[[str], None], name: str, text: str) -> None:
    zone(name)
    day = date.fromisoformat(text)
    low, high = day_of(text)
    assert low == _first_moment(day, ZoneInfo(name))
    assert high == _first_moment(day + timedelta(days=1), ZoneInfo(name))
    assert start_of(text) == low
    assert end_of(text) == high
    assert day_of((day + timedelta(days=1)).isoformat())[0] == high


@pytest.mark.parametrize(("name", "text"), ZONES)
def test_a_local_moment_is_read_in_the_reader_s_zone(zone: Callable[[str], None], name: str, text: str) -> None:
    zone(name)
    moment = datetime.fromisoformat(f"{text}T12:34:56.000789").replace(tzinfo=ZoneInfo(name))
    for written in (f"{text}T12:34:56.000789", f"{text} 12:34:56.000789"):
        assert start_of(written) == end_of(written) == _us(moment)


@pytest.mark.parametrize("name", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_a_moment_with_a_zone_is_that_moment_everywhere(zone: Callable[[str], None], name: str) -> None:
    zone(name)
    assert start_of("2026-01-31T09:00:00Z") == _us(datetime(2026, 1, 31, 9, tzinfo=UTC))
    assert start_of("2026-01-31T09:00:00+05:30") == _us(datetime(2026, 1, 31, 3, 30, tzinfo=UTC))


class _Clock(datetime):
    """A clock that stands still a moment after local midnight."""

    @classmethod
    def now(cls, tz: object = None) -> datetime:
        return datetime(2026, 3, 30, 0, 0, 1)  # noqa: DTZ001 - local on purpose


@pytest.fixture
def midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates, "datetime", _Clock)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
@pytest.mark.usefixtures("midnight")
def test_words_for_days_over_midnight(zone: Callable[[str], None], name: str) -> None:
    zone(name)
    assert day_of("today") == day_of("2026-03-30")
    assert day_of(" Yesterday ") == day_of("2026-03-29")
    assert start_of("yesterday") == start_of("2026-03-29")
    assert end_of("yesterday") == start_of("today")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45s", 45),
        ("45sec", 45),
        ("45min", 2700),
        ("3m", 180),
        ("12h", 43200),
        ("1d", 86400),
        ("2w", 1209600),
        ("3mo", 7776000),
        ("1y", 31536000),
        ("7 D", 604800),
    ],
)
@pytest.mark.usefixtures("midnight")
def test_ages_count_back_from_now(zone: Callable[[str], None], text: str, seconds: int) -> None:
    zone("Asia/Kolkata")
    now = _us(datetime(2026, 3, 30, 0, 0, 1, tzinfo=ZoneInfo("Asia/Kolkata")))
    assert start_of(text) == end_of(text) == now - seconds * 1_000_000


@pytest.mark.parametrize("text", ["20260131", "2026-W05-6", "2026W056"])
def test_a_day_is_a_day_in_every_iso_spelling(text: str) -> None:
    assert day_of(text) == day_of("2026-01-31")
    assert end_of(text) == end_of("2026-01-31")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "tomorrowish",
        "2026-13-01",
        "2026-02-30",
        "31.01.2026",
        "99999999y",
        "999999y",
        "-1d",
        "1.5h",
        "2026-01-31T25:00",
        "0d0",
        "٣d٤",
        "2026",
        "2026-01",
        "12",
    ],
)
@pytest.mark.parametrize("read", [start_of, end_of, day_of])
def test_what_is_no_date_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(UsageError):
        read(text)


@pytest.mark.parametrize("name", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "0001-01-01T00:00", "9999-12-31T23:59:59", "0001-01-01T00:00:00+14:00"])
@pytest.mark.parametrize("read", [start_of, end_of])
def test_the_ends_of_the_calendar_are_a_date_or_refused(
    zone: Callable[[str], None], name: str, text: str, read: Callable[[str], object]
) -> None:
    zone(name)
    with suppress(UsageError):
        assert isinstance(read(text), int)


@pytest.mark.parametrize("name", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York", "Asia/Kolkata", "Europe/Berlin"])
def test_the_first_days_of_the_calendar_are_days(zone: Callable[[str], None], name: str) -> None:
    zone(name)
    day = 86_400_000_000
    low, high = day_of("0001-01-01")
    assert high - low == day
    assert (start_of("0001-01-01"), end_of("0001-01-01")) == (low, high)
    assert [day_of(f"0001-01-0{number}") for number in (2, 3, 4, 5, 6)] == [(low + day * n, high + day * n) for n in (1, 2, 3, 4, 5)]
    assert request(["x"], on="0001-01-01").filters.since_us == low


def test_a_request_keeps_its_bounds(zone: Callable[[str], None]) -> None:
    zone("Europe/Berlin")
    whole = request(["x"], on="2026-03-29").filters
    assert (whole.since_us, whole.until_us) == day_of("2026-03-29")
    assert (whole.until_us or 0) - (whole.since_us or 0) == 23 * 3600 * 1_000_000
    span = request(["x"], since="2026-03-29", until="2026-03-29").filters
    assert span == whole
