#!/usr/bin/env bash
# Checks that the package needs no network while its traits are off: nothing can be fetched, and
# nothing is.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Git finds nothing at any address from which SwiftPM would fetch.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.file:///nowhere/.insteadOf GIT_CONFIG_VALUE_0=https://
swift package resolve --scratch-path "$work/build" --cache-path "$work/cache" || {
  echo "check_offline: the package cannot be resolved without network$([[ -e Package.resolved ]] &&
    echo '; Package.resolved has what was fetched with the trait: remove it')" >&2
  exit 1
}
echo "ok       the package resolves without network"
