"""`NamedTuple` without the cost of importing `typing`: 6 of the 50 ms that a prompt search takes.

A type checker sees typing's own; at run time a small equal builds the same classes on collections.namedtuple.
Modules that use it keep their annotations as strings (`from __future__ import annotations`).
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # type checkers take it for True, as they do typing's

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - the alias says that it is for others
else:

    class _Meta(type):
        """Turns a class body with annotations into a named tuple with the body's methods and defaults."""

        def __new__(mcs, name, bases, body):
            if not bases:
                return super().__new__(mcs, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024 - this is what builds them
            made.__annotations__ = body.get("__annotations__", {})
            for key, value in body.items():
                if key not in fields and key not in ("__module__", "__qualname__", "__annotations__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Meta):
        """A base that is no base: `class Point(NamedTuple)` makes a tuple class with named fields."""
