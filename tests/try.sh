#!/bin/sh
# A first look: an agent's session is held until its epic is done. Real commands, in a scratch
# repository that is removed at the end. Needs git and Rust.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${BEADLOCK_TRY_BIN:-}" ]; then
  cargo build --quiet --locked --manifest-path "$here/Cargo.toml"
  BEADLOCK_TRY_BIN=${CARGO_TARGET_DIR:-$here/target}/debug
fi
PATH="$BEADLOCK_TRY_BIN:$PATH"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/shed"
cd "$scratch/shed"
export XDG_STATE_HOME="$scratch"

show() { printf '\n$ %s\n' "$*"; "$@"; }
# What the agent's Stop hook does: its words go in, the verdict comes out.
agent_says() {
  printf '\n(the agent says: %s)\n$ beadlock hook stop\n' "$1"
  answer=$(printf '{"session_id":"s-1","cwd":"%s","hook_event_name":"Stop","last_assistant_message":"%s"}' "$PWD" "$1" |
    beadlock hook stop)
  printf '%s\n' "${answer:-(silence: the agent may go)}"
}

git init -q .
git config user.name "You" && git config user.email "you@example.com"
show beadlock task add "Paint the shed" --type epic --id bd-shed
show beadlock task add "Sand the walls" --epic bd-shed
show beadlock task add "Apply the paint" --epic bd-shed --blocked-by bd-shed.1
git add -A && git commit -q -m "Plan the shed"

show beadlock start bd-shed --session s-1
agent_says "The plan is clear now. Shall I begin with the walls?"
show beadlock task start bd-shed.1
agent_says "The walls are nearly done."
show beadlock task close bd-shed.1
agent_says "<promise>ALL TASKS COMPLETE</promise>"
show beadlock task start bd-shed.2
echo green >wall.txt
show beadlock task close bd-shed.2
agent_says "<promise>ALL TASKS COMPLETE</promise>"
show git add wall.txt .beads
show git commit -q -m "Paint the shed"
agent_says "<promise>ALL TASKS COMPLETE</promise>"
show beadlock status
