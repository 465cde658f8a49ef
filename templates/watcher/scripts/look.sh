#!/bin/sh
# Prints what changed in what is watched since the last look, and remembers this one. Reads only.
cd "$(dirname "$0")/.." || exit 2
watched=$(cat scripts/target)
mark=notes/.last-look
mkdir -p notes
new=$mark.$$
: > "$new" || exit 2
if [ -e "$mark" ]; then
    echo "changed since the last look:"
    find "$watched" -newer "$mark" -type f ! -path '*/.git/*' ! -path "$PWD/*" ! -path '*/notes/.last-look*' 2>/dev/null | sort | head -50
else
    echo "the first look; the newest files:"
    find "$watched" -type f ! -path '*/.git/*' ! -path '*/notes/.last-look*' -exec ls -td {} + 2>/dev/null | head -20
fi
if git -C "$watched" rev-parse --git-dir > /dev/null 2>&1; then
    echo "not committed:"
    git -C "$watched" status --short 2>/dev/null | head -20
    echo "the last commits:"
    git -C "$watched" log --oneline -5 2>/dev/null
fi
mv "$new" "$mark"
