"""Writes docs/reference/schema.json, the JSON Schema of what `--json` prints, from the types in deepgrep.schema.

Usage: python scripts/schema.py. Refuses to change or drop what a released schema_version says: that needs a new version.
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

from deepgrep import schema, wire

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "schema.json"
OTHERS = (  # what other commands print, under `$defs`
    schema.PassageJson, schema.SourcesJson, schema.StoresJson, schema.HealthJson, schema.ExplanationJson, schema.FieldsJson,
)  # fmt: skip
Json = dict[str, typing.Any]


def generated() -> Json:
    """The schema of the document, with every named shape under `$defs`."""
    shapes: Json = {}
    top = schema.json_schema(schema.DocumentJson, shapes, wire.SCHEMA_VERSION)
    top.pop("description")
    for other in OTHERS:
        schema.json_schema(other, shapes, wire.SCHEMA_VERSION, named=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What deepgrep --json prints",
        **top,
        "$defs": dict(sorted(shapes.items())),
    }


def broken(old: Json, new: Json, at: str = "") -> Iterator[str]:
    """Where the new schema breaks what the old one promised. Added properties and descriptions break nothing."""
    for key, value in old.items():
        if isinstance(value, str) and key in ("description", "title", "$schema"):
            continue  # notes for readers; a property of such a name is an object
        here = f"{at}/{key}"
        if key not in new:
            yield f"{here} is gone"
        elif isinstance(value, dict) and isinstance(new[key], dict):
            yield from broken(value, new[key], here)
        elif key == "required":
            yield from (f"{here}: {name} may now be missing" for name in value if name not in new[key])
        elif value != new[key]:
            yield f"{here} was {json.dumps(value)} and is {json.dumps(new[key])}"


def text(of: Json) -> str:
    """A schema as it stands in its file."""
    return json.dumps(of, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or say why it must not be written."""
    new = generated()
    if TARGET.exists():
        old = json.loads(TARGET.read_text(encoding="utf-8"))
        wrong = list(broken(old, new)) if old["properties"]["schema_version"] == new["properties"]["schema_version"] else []
        if wrong:
            print("These need a new SCHEMA_VERSION in deepgrep/wire.py:", *wrong, sep="\n  ", file=sys.stderr)
            return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text(new), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
