"""`deepgrep completion`: scripts for bash, zsh and fish. They are static: no key starts a program.

Made here and not by shtab: commands are dispatched by hand, fish is served, and a query's fields complete inside a word.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from .commands import CommandWords, Flag, commands, query_words
from .parser import Parser, answered


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "completion", "bash|zsh|fish",
        "Print a script that completes deepgrep's commands, flags, agents, stores and fields. It is static: no key starts a program.",
        '  eval "$(deepgrep completion bash)"                                  in ~/.bashrc\n'
        "  deepgrep completion zsh > ~/.zfunc/_deepgrep                        a folder of your fpath\n"
        "  deepgrep completion fish > ~/.config/fish/completions/deepgrep.fish",
    )  # fmt: skip
    made.add_argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help=", ".join(_SCRIPTS))
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_completion, words)


def _completion(words: Sequence[str]) -> int:
    options = parser().parse_args(list(words))
    sys.stdout.writelines(line + "\n" for line in _SCRIPTS[options.shell](commands()))
    return 0


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _valued(found: CommandWords) -> Iterator[Flag]:
    return (flag for flag in found.flags if flag.metavar)


def _names(found: CommandWords) -> list[str]:
    return [name for flag in found.flags for name in flag.names]


def _bash(found: Sequence[CommandWords]) -> Iterator[str]:
    yield "# deepgrep completion for bash. Words are taken from the line itself, since bash cuts them at colons."
    yield "_deepgrep_reply() {"
    yield '    COMPREPLY=($(compgen -W "$1" -- "$word"))'
    yield '    case "${COMPREPLY[0]}" in *:) compopt -o nospace 2>/dev/null ;; esac'
    yield "    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then"
    yield '        local prefix="${word%"${word##*:}"}" index'
    yield '        for index in "${!COMPREPLY[@]}"; do COMPREPLY[index]="${COMPREPLY[index]#"$prefix"}"; done'
    yield "    fi"
    yield "}"
    yield "_deepgrep_files() {"
    yield "    compopt -o filenames 2>/dev/null"
    yield '    COMPREPLY=($(compgen "$1" -- "$word"))'
    yield "}"
    yield "_deepgrep() {"
    yield '    local line="${COMP_LINE:0:COMP_POINT}" word command previous'
    yield "    local -a words"
    yield '    word="${line##*[[:space:]]}"'
    yield '    read -ra words <<< "${line%"$word"}"'
    yield "    COMPREPLY=()"
    yield "    if (( ${#words[@]} < 2 )); then"
    yield f"        _deepgrep_reply {_quoted(' '.join(one.name for one in found) + ' --help --version')}"
    yield "        return"
    yield "    fi"
    yield '    command="${words[1]}" previous="${words[${#words[@]}-1]}"'
    yield '    case "$command $previous" in'
    for one in found:
        for flag in _valued(one):
            cases = "|".join(_quoted(f"{one.name} {name}") for name in flag.names)
            action = "_deepgrep_files -d" if flag.folder else f"_deepgrep_reply {_quoted(' '.join(flag.values))}"
            yield f"        {cases}) {action}; return ;;"
    yield "    esac"
    yield '    case "$command $word" in'
    for one in found:
        yield f"        {_quoted(one.name + ' -')}*) _deepgrep_reply {_quoted(' '.join(_names(one)))} ;;"
    for one in found:
        if one.takes == "query":
            yield f"        {_quoted(one.name + ' ')}*) _deepgrep_reply {_quoted(' '.join(query_words()))} ;;"
        elif one.takes == "file":
            yield f"        {_quoted(one.name + ' ')}*) _deepgrep_files -f ;;"
        elif one.words:
            yield f"        {_quoted(one.name + ' ')}*) _deepgrep_reply {_quoted(' '.join(one.words))} ;;"
    yield "    esac"
    yield "}"
    yield "complete -F _deepgrep deepgrep"


def _zsh(found: Sequence[CommandWords]) -> Iterator[str]:
    yield "#compdef deepgrep"
    yield "_deepgrep() {"
    yield "    local command=$words[2] previous=$words[CURRENT-1] word=$words[CURRENT]"
    yield "    local -a commands flags"
    yield "    if (( CURRENT == 2 )); then"
    yield f"        commands=({' '.join(_quoted(f'{one.name}:{one.help}') for one in found)})"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield '    case "$command $previous" in'
    for one in found:
        for flag in _valued(one):
            cases = "|".join(_quoted(f"{one.name} {name}") for name in flag.names)
            values = " ".join(map(_quoted, flag.values))
            action = "_files -/" if flag.folder else f"compadd -- {values}" if values else "true"
            yield f"        {cases}) {action}; return ;;"
    yield "    esac"
    yield '    case "$command $word" in'
    for one in found:
        described = " ".join(_quoted(f"{name}:{flag.help}") for flag in one.flags for name in flag.names)
        yield f"        {_quoted(one.name + ' -')}*) flags=({described}); _describe -o option flags ;;"
    fields = [word for word in query_words() if word.endswith(":")]
    known = [word for word in query_words() if not word.endswith(":")]
    for one in found:
        if one.takes == "query":
            yield f"        {_quoted(one.name + ' ')}*:*) compadd -- {' '.join(map(_quoted, known))} ;;"
            yield f"        {_quoted(one.name + ' ')}*) compadd -S '' -- {' '.join(map(_quoted, fields))} ;;"
        elif one.takes == "file":
            yield f"        {_quoted(one.name + ' ')}*) _files ;;"
        elif one.words:
            yield f"        {_quoted(one.name + ' ')}*) compadd -- {' '.join(map(_quoted, one.words))} ;;"
    yield "    esac"
    yield "}"
    yield '_deepgrep "$@"'


def _fish(found: Sequence[CommandWords]) -> Iterator[str]:
    yield "complete -c deepgrep -f"
    for one in found:
        yield f"complete -c deepgrep -n __fish_use_subcommand -a {one.name} -d {_fish_quoted(one.help)}"
    for one in found:
        when = f"complete -c deepgrep -n '__fish_seen_subcommand_from {one.name}'"
        for flag in one.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            yield f"{when} {names}{_fish_values(flag)} -d {_fish_quoted(flag.help)}"
        if one.takes == "query":
            yield f"{when} -a {_fish_quoted(' '.join(query_words()))}"
        elif one.takes == "file":
            yield f"{when} -F"
        elif one.words:
            yield f"{when} -a {_fish_quoted(' '.join(one.words))}"


def _fish_values(flag: Flag) -> str:
    if flag.folder:
        return " -x -a '(__fish_complete_directories)'"
    return f" -x -a {_fish_quoted(' '.join(flag.values))}" if flag.values else " -x" if flag.metavar else ""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Mapping[str, Callable[[Sequence[CommandWords]], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
