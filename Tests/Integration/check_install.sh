#!/usr/bin/env bash
# Checks that the results of Tools/package can be installed, used and removed on a machine that has
# nothing: a bare Debian.
#
#   check_install.sh PACKAGES [ROOT]     PACKAGES is what Tools/package has made; ROOT a bare Debian, else one is made
#
# Tests the Debian packages, the tarball and the container image. Kills the writer of a log, and
# reads its last record. Builds a program in C, kills it, and reads its log. Then purges the
# packages, after which nothing may be left. Needs root, and mmdebstrap, lintian and umoci, which
# 'Tools/setup --release' installs. Exit status 1: something is wrong.
set -euo pipefail
packages=$(realpath "$1")
project=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d /var/tmp/mmlog-install.XXXXXX)
bare=${2:-$work/bare}
root=$work/root
failed=0

finish() {
  umount --quiet "$root/proc" "$work/bundle/rootfs/proc" 2>/dev/null || true
  rm -rf -- "$work"
}
trap finish EXIT

ok() { echo "ok       $1"; }
wrong() {
  echo "FAILED   $1"
  failed=1
}
expect() {  # NAME, COMMAND…
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then ok "$name"; else
    wrong "$name"
    sed 's/^/         /' "$work/output"
  fi
}
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

# Writes lines without end, kills the program that records them, and searches for each acknowledged
# line. The pipe passes on the lines that it has recorded.
piped='
set -eu
mkdir -p /tmp/log
i=0
while :; do i=$((i + 1)); echo "line $i" 2>/dev/null || exit 0; done |
  mmlog-pipe --tee -d /tmp/log -n sample >/tmp/seen 2>/dev/null &
pipe=$!
tries=0
until [ "$(wc -l </tmp/seen 2>/dev/null || echo 0)" -gt 2000 ]; do
  tries=$((tries + 1))
  [ $tries -lt 600 ] || exit 1
  sleep 0.05
done
kill -KILL $pipe
wait
mmlog-decode --format message /tmp/log >/tmp/found 2>/tmp/errors || [ $? = 1 ]
head -n "$(wc -l </tmp/seen)" /tmp/found | cmp - /tmp/seen
echo "$(wc -l </tmp/seen) lines were passed on, $(wc -l </tmp/found) are kept"
rm -rf /tmp/log /tmp/seen /tmp/found /tmp/errors'

# The first C program of README.md, changed so that it is killed before its end.
c_sample() {
  sed -n '/^```c$/,/^```$/p' "$project/README.md" | sed '1d;$d' |
    sed 's|"/var/log/orders"|"/tmp/orders"|; s|return mmlog_close.*|raise(SIGKILL); return 0;|; 1i #include <signal.h>'
}
in_c='
set -eu
mkdir -p /tmp/orders
"$@" && exit 1
mmlog-decode --format message /tmp/orders >/tmp/found 2>/dev/null || [ $? = 1 ]
grep -qx "order 7 accepted for alice in 0.25 ms" /tmp/found
rm -rf /tmp/orders /tmp/found'

new_root() {
  rm -rf -- "$root"
  mkdir "$root"
  cp -a "$bare/." "$root/"
  mount -t proc proc "$root/proc"
  cp "$packages"/*.deb "$packages"/*.tar.xz "$root/root/"
  c_sample >"$root/root/orders.c"
}
end_root() { umount "$root/proc"; }

from_packages() {
  new_root
  inside dpkg-query -W -f '${Package}\n' | sort >"$work/before"
  expect "packages: mmlog is installed" inside sh -c \
    'apt-get -qq install --yes --no-install-recommends /root/mmlog_*.deb'
  expect "packages: lines outlive their pipe" inside sh -c "$piped"
  expect "packages: mmlog-ship is installed, and runs" inside sh -c \
    'apt-get -qq update && apt-get -qq install --yes --no-install-recommends /root/mmlog-ship_*.deb && mmlog-ship --version && mmlog-receive --version'
  expect "packages: libmmlog-dev is installed, with a compiler" inside sh -c \
    'apt-get -qq install --yes --no-install-recommends /root/libmmlog-dev_*.deb gcc pkg-config'
  expect "packages: a program in C is built" inside sh -c \
    'cc /root/orders.c $(pkg-config --cflags --libs mmlog) -o /root/orders'
  expect "packages: its records outlive it" inside sh -c "$in_c" sh /root/orders
  expect "packages: purged" inside apt-get -qq purge --yes mmlog mmlog-ship libmmlog-dev
  inside sh -c 'find / -xdev \( -name "*mmlog*" -o -name "*libmmlog*" \) -not -path "/root/*" -not -path "/var/lib/apt/*"' >"$work/left"
  expect "packages: purged, nothing is left" test ! -s "$work/left"
  end_root
}

from_tarball() {
  new_root
  inside sh -c 'tar -C /usr/local --strip-components 1 -xJf /root/mmlog-*-linux-*.tar.xz 2>/dev/null' || {
    # A bare Debian has no xz.
    xz -dc "$packages"/mmlog-*-linux-*.tar.xz | tar -C "$root/usr/local" --strip-components 1 -x
  }
  expect "tarball: lines outlive their pipe" inside env PATH=/usr/local/bin:/usr/bin:/bin sh -c "$piped"
  end_root
}

from_image() {
  rm -rf -- "$root" "$work/layout"
  mkdir "$work/layout"
  tar -C "$work/layout" -xf "$packages"/mmlog-*.oci.tar
  local version
  version=$(sed -n 's/.*"\(.*\)"$/\1/p' "$project/Sources/CommandLineTool/Version.swift")
  expect "image: umoci unpacks it" umoci unpack --image "$work/layout:$version" "$work/bundle"
  # The image's program reads a log, and has none of the tarball's files.
  mkdir "$work/bundle/rootfs/logs" "$work/bundle/rootfs/proc"
  mount -t proc proc "$work/bundle/rootfs/proc"
  seq 100 | "$work/bundle/rootfs/usr/bin/mmlog-pipe" -d "$work/bundle/rootfs/logs" -n sample
  expect "image: its program reads a log, with nothing beside it" \
    sh -c 'test "$(chroot "$1/rootfs" /usr/bin/mmlog-decode --format message /logs | wc -l)" = 100' sh "$work/bundle"
  expect "image: its program reads a pipe" \
    sh -c 'cat "$1"/rootfs/logs/*.mmlog | chroot "$1/rootfs" /usr/bin/mmlog-decode --format message - | grep -qx 100' sh "$work/bundle"
}

[[ $EUID == 0 ]] || { echo "check_install: needs root, for a chroot" >&2; exit 2; }
expect "checksums" sh -c 'cd "$1" && sha256sum --check --strict --quiet SHA256SUMS' sh "$packages"
expect "lintian" lintian --fail-on error,warning --allow-root "$packages"/*.deb
[[ -d $bare/etc ]] || mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$bare"
from_packages
from_tarball
from_image
exit $failed
