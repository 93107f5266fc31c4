#!/bin/sh
# A first search: the newest prompts of your own history or, where there is none, a search of the sample home.
set -u
cd -- "$(dirname -- "$0")/.."
sample=src/deepgrep/sample_home

# Shows a command as you would type it, then runs it.
run() {
    printf '$ .venv/bin/deepgrep'
    printf ' %s' "$@"
    printf '\n'
    .venv/bin/deepgrep "$@"
}

run search --speaker person --limit 5 --order newest
status=$?
echo
case $status in
0)
    target=
    ;;
130)
    exit 130
    ;;
*)
    if [ $status -eq 1 ]; then
        echo "No prompt of yours was found on this machine. Here is the sample home that comes with deepgrep:"
    else
        echo "Your own history could not be searched completely; the lines above say why. Here is the sample home that comes with deepgrep:"
    fi
    echo
    target=" --home $sample"
    run search --home "$sample" --exhaustive checkout || exit $?
    echo
    ;;
esac

cat <<END
What else to type:
  .venv/bin/deepgrep search$target checkout
      your prompts that hold a word
  .venv/bin/deepgrep search$target --exhaustive --scope all checkout
      replies and tool output too
  .venv/bin/deepgrep search$target --exhaustive --scope all '"flaky test"'
      a phrase
  .venv/bin/deepgrep search$target --agent codex --json test
      for a script
  .venv/bin/deepgrep search --help
      every flag
END
