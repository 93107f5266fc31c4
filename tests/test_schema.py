"""The published schema is what the types say, every real answer fits it, and a break needs a new version."""

from __future__ import annotations

import copy
import importlib.util
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from homes import FIXTURES, ROOT, SAMPLE, STORES
from pages import run

PUBLISHED = ROOT / "docs" / "reference" / "schema.json"


def _script() -> object:
    spec = importlib.util.spec_from_file_location("schema_script", ROOT / "scripts" / "schema.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()


def published() -> dict:  # type: ignore[type-arg]
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def closed(schema: object) -> object:
    """The schema with no room for keys that it does not name: what this version prints, and nothing else."""
    if isinstance(schema, dict):
        out = {key: closed(value) for key, value in schema.items()}
        if "properties" in out:
            out["additionalProperties"] = False
        return out
    return [closed(one) for one in schema] if isinstance(schema, list) else schema


def test_the_published_schema_is_the_one_of_the_types() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == SCRIPT.text(SCRIPT.generated()), "run scripts/schema.py and read the diff"  # type: ignore[attr-defined]


COMMANDS = [
    "--json e",
    "--json --exhaustive --scope all --explain --context 1 e",
    "--json --exhaustive --scope all --no-dedupe --order newest --speaker runtime,tool,agent,person,parent",
    "--json --exhaustive --scope all --limit 1 --order scan e",
    "--json zebra-that-nobody-mentions",
    "--json --explain --exhaustive --project nowhere e",
]


@pytest.mark.parametrize("home", [SAMPLE, *(STORES / agent / "home" for agent in FIXTURES)], ids=lambda path: path.parent.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_answer_fits_the_schema_and_says_nothing_beside_it(home: Path, command: str, tmp_path: Path) -> None:
    doc = json.loads(run(f"deepgrep search --home {home} {command}", tmp_path).out)
    Draft202012Validator(closed(published())).validate(doc)


OTHER_COMMANDS = {
    "find --json": "Sources", "stores --json": "Stores", "doctor --json --workers 1": "Health",
    "explain --json 'agent:claude e OR -since:7d'": "Explanation", "fields --json": "Fields", "show --json {file}": "Passage",
}  # fmt: skip


@pytest.mark.parametrize("home", [SAMPLE, *(STORES / agent / "home" for agent in FIXTURES)], ids=lambda path: path.parent.name)
@pytest.mark.parametrize("command", OTHER_COMMANDS)
def test_every_document_of_another_command_fits_the_schema(home: Path, command: str, tmp_path: Path) -> None:
    name, _, rest = command.partition(" ")
    where = "" if name == "fields" else f"--home '{home}'"
    files = [""]
    if "{file}" in rest:
        files = [f"'{one['path']}'" for one in json.loads(run(f"deepgrep find --json {where}", tmp_path).out)["sources"]]
    printed = [out for file in files if (out := run(f"deepgrep {name} {where} {rest.format(file=file)}", tmp_path).out)]
    assert printed or "{file}" in rest
    shapes = closed(published()["$defs"])
    for out in printed:
        Draft202012Validator({"$ref": f"#/$defs/{OTHER_COMMANDS[command]}", "$defs": shapes}).validate(json.loads(out))


def test_lines_hold_the_same_results_and_summary_as_the_document(tmp_path: Path) -> None:
    words = f"deepgrep search --home {SAMPLE} --exhaustive --scope all --order newest"
    doc = json.loads(run(f"{words} --json e", tmp_path).out)
    *results, last = map(json.loads, run(f"{words} --ndjson e", tmp_path).out.splitlines())
    assert results == [{"type": "result", **result} for result in doc["results"]]
    assert last == {"type": "summary", "schema_version": doc["schema_version"], **doc["summary"]}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda doc: doc["results"][0].pop("ref"),
        lambda doc: doc["results"][0].update(text=None),
        lambda doc: doc["results"][0].update(new=1),
        lambda doc: doc["summary"].pop("outcome"),
        lambda doc: doc["summary"]["coverage"]["sources"].update(failed="0"),
        lambda doc: doc.update(schema_version=2),
    ],
)
def test_the_schema_refuses_a_spoiled_answer(spoil: object, tmp_path: Path) -> None:
    doc = json.loads(run(f"deepgrep search --home {SAMPLE} --json e", tmp_path).out)
    spoil(doc)  # type: ignore[operator]
    with pytest.raises(ValidationError):
        Draft202012Validator(closed(published())).validate(doc)


def test_a_changed_name_type_or_nullability_needs_a_new_version() -> None:
    old = published()
    for change in (
        lambda new: new["$defs"]["Result"]["properties"].pop("title"),
        lambda new: new["$defs"]["Result"]["properties"].update(title={"type": "string"}),
        lambda new: new["$defs"]["Result"]["required"].remove("title"),
        lambda new: new["$defs"]["SourceCounts"]["properties"].update(failed={"type": "string"}),
    ):
        new = copy.deepcopy(old)
        change(new)
        assert list(SCRIPT.broken(old, new))  # type: ignore[attr-defined]
    added = copy.deepcopy(old)
    added["$defs"]["Result"]["properties"]["more"] = {"type": "string"}
    added["$defs"]["Result"]["required"].append("more")
    assert not list(SCRIPT.broken(old, added))  # type: ignore[attr-defined]
