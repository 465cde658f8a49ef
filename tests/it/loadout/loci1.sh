#!/bin/bash
# loci1.sh DIR PIECE...: the hash of a loadout (docs/FORMATS.md)
cd -- "$1" || exit 2; shift; export LC_ALL=C
for piece; do
  if [ -e "./$piece" ] || [ -L "./$piece" ]; then find "./$piece" ! -type d -print0; fi
done | sort -zu | while IFS= read -r -d '' path; do
  if [ -L "$path" ]; then kind=l; read=(readlink -n -- "$path")
  elif [ -n "$(find "$path" -maxdepth 0 -perm -100 -printf x)" ]; then kind=x; read=(cat -- "$path")
  else kind=f; read=(cat -- "$path"); fi
  len=$("${read[@]}" | wc -c); sha=$("${read[@]}" | sha256sum)
  printf '%s %s %s %s\0' "$kind" "$len" "${sha%% *}" "${path#./}"
done | sha256sum | sed 's/^/loci1:/; s/ .*//'
