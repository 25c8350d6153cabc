#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

#   hack/give-way.sh NICENESS COMMAND...
#
# becomes the command, which gives way to others as far as nice(1) says: at 19 it runs when the CPU has nothing else to do, at 10 it gets
# a tenth of what it wants. Start it as the leader of a session (setsid): of two sessions Linux gives each its share, whatever the nice
# values of their processes, so the session becomes as nice. Where the kernel knows no such groups, nice values are all there is; where
# there is no nice, it is a command like any other.

set -o errexit -o nounset -o pipefail

niceness="$1"
shift
{ echo "$niceness" >/proc/self/autogroup; } 2>/dev/null || true
if nice -n "$niceness" true 2>/dev/null; then
  exec nice -n "$niceness" "$@"
fi
exec "$@"
