"""Days and moments as people write them, in the reader's zone, to microseconds since 1970 UTC."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from ..errors import UsageError

_AGO = re.compile(r"(\d{1,6})\s*(s|sec|m|min|h|d|w|mo|y)", re.IGNORECASE)
_DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_DAY = re.compile(r"\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d)", re.IGNORECASE | re.ASCII)  # with or without dashes, also as year, week, day
_PLAIN = date(1, 1, 4)  # days before it have 24 hours, and lie too near to the start of the calendar to be asked about with a zone
_HOW = "write a day (2026-01-31, today, yesterday), a moment (2026-01-31T09:00) or an age (45min, 12h, 7d, 2w, 3mo, 1y)"


def day_of(text: str) -> tuple[int, int]:
    """First microsecond of a local day, and of the next."""
    day = _named_day(text)
    if day is None:
        raise UsageError(f"{text!r} is no day: write 2026-01-31, today or yesterday")
    return _midnight(day), _midnight(day, after=1)


def start_of(text: str) -> int:
    """The first moment that `--since TEXT` includes: a local day from its midnight, an age counted back from now."""
    day = _named_day(text)
    return _midnight(day) if day else _moment(text)


def end_of(text: str) -> int:
    """The first moment that `--until TEXT` leaves out: a day is included whole."""
    day = _named_day(text)
    return _midnight(day, after=1) if day else _moment(text)


def _named_day(text: str) -> date | None:
    word = text.strip().lower()
    today = datetime.now().astimezone().date()
    if word in ("today", "yesterday"):
        return today - timedelta(days=word == "yesterday")
    if not _DAY.fullmatch(word):
        return None
    try:
        return date.fromisoformat(word.upper())
    except ValueError as error:
        raise UsageError(f"{text!r} is no day of the calendar: {_HOW}") from error


def _midnight(day: date, *, after: int = 0) -> int:
    """The first moment of the local day that comes so many days after this one."""
    try:
        day += timedelta(days=after)
        if day < _PLAIN:
            return _midnight(_PLAIN) - (_PLAIN - day).days * 86_400_000_000
        # Naive on purpose: timestamp() takes it as local, and where clocks are put forward at midnight gives the moment of the change
        # (astimezone() gives one an hour before it).
        return _us(datetime(day.year, day.month, day.day))  # noqa: DTZ001
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{day} lies at the end of the calendar: {_HOW}") from error


def _moment(text: str) -> int:
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago:
            number, unit = int(ago[1]), ago[2].lower()
            step = timedelta(days=number * _DAYS[unit]) if unit in _DAYS else timedelta(seconds=number * _SECONDS[unit])
            return _us(datetime.now().astimezone() - step)
        return _us(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no date: {_HOW}") from error


def _us(moment: datetime) -> int:
    """A moment without a zone is a local one."""
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 1_000_000 + moment.microsecond
