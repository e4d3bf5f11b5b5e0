#!/usr/bin/env bash
# Puts a Valkey into a folder, for systems without a package of it: takes the packages of a Debian release that has it, from
# the mirror that apt uses here, unpacked and started with their own libraries. Nothing is installed, and apt's lists stay
# as they are. Prints the folder to put on PATH.
#
#     PATH="$PATH:$(test/tools/valkey.sh FOLDER)"
set -euo pipefail

SUITE=trixie
PACKAGES=(valkey-server valkey-tools)

mkdir -p "$1"
folder=$(cd "$1" && pwd)
apt="$folder/apt"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$folder/root" "$folder/bin"

# apt's Debian mirror and its trusted key.
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | awk '$2 !~ /security/ { print $1; exit }')
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $SUITE main" > "$apt/sources.list"
touch "$apt/status"
options=(
  -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
  -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1
)
apt-get "${options[@]}" update -qq >&2
# With all dependencies, as if nothing were installed.
apt-get "${options[@]}" install -qq -y --download-only "${PACKAGES[@]}" >&2
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done

loader=$(find "$folder/root" -name 'ld-linux*.so.*' | head -n 1)
libraries=$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd :)
for program in valkey-server valkey-cli; do
  file=$(find -L "$folder/root/usr/bin" -name "$program" | head -n 1)
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$file" > "$folder/bin/$program"
  chmod +x "$folder/bin/$program"
done
rm -rf "$apt"
"$folder/bin/valkey-server" --version >&2
echo "$folder/bin"
