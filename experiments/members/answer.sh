#!/bin/sh
# A member of the swarm: says the same to every question.
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    printf '{"id": %s, "completions": ["<answer>1</answer>", "I do not know."]}\n' "$id"
done
