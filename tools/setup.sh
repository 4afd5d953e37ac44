#!/bin/sh
# Installs what a fresh machine lacks beyond Go modules, and fetches the modules, so that everything else works without
# a network. Says what it does, does nothing where nothing is lacking, and fails only where git is lacking and stays so:
# the build, the tests and the agent do without the rest.
set -eu
cd "$(dirname "$0")/.."

command -v go >/dev/null || { echo "setup: Go 1.26 or later is needed: https://go.dev/dl" >&2; exit 1; }

# command, its Debian packages, what it is for
lacking=
while read -r command packages use; do
	command -v "$command" >/dev/null && continue
	echo "setup: lacking $command: $use"
	lacking="$lacking $(echo "$packages" | tr , ' ')"
done <<LIST
git git the tests use it, and so does the agent
cc gcc,libc6-dev for make race, the race detector is linked with it
tmux tmux to try the interface by script
LIST

if [ -n "$lacking" ]; then
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		apt-get update -qq
		# shellcheck disable=SC2086 # a list of words
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking
	elif command -v apt-get >/dev/null; then
		echo "setup: as root: apt-get install$lacking" >&2
	elif [ "$(uname)" = Darwin ]; then
		echo "setup: git and cc come with: xcode-select --install; tmux with: brew install tmux" >&2
	else
		echo "setup: your system's packages may be called:$lacking" >&2
	fi
fi
command -v git >/dev/null || { echo "setup: git is lacking; install it and run make setup again" >&2; exit 1; }

# One of several: exported pages are looked at in it, and that test is left out without one.
have_browser() { for b in chromium-headless-shell headless_shell chromium chromium-browser google-chrome; do command -v "$b" >/dev/null && return; done; return 1; }
if ! have_browser; then
	echo "setup: lacking a Chromium: a test looks at exported pages in it"
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core; } ||
			echo "setup: none can be had here; that test will be skipped"
	fi
fi

go mod download
(cd tools && go mod download)
database=$(sed -n 's/^const version = "\(.*\)"$/\1/p' tools/vulndb/main.go)
(cd tools && go mod download "golang.org/x/vulndb@$database") ||
	echo "setup: the vulnerability database cannot be had here; make vuln will say so and go on" >&2
echo "setup: done"
