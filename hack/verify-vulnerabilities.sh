#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Nothing of the Go vulnerability database that is linked into the programs is known to be vulnerable, but what is waived below,
# each with its reason (govulncheck, pinned in hack/tools/govulncheck); and every module is what go.sum says.
#
# The database is the Go module golang.org/x/vulndb, pinned here: a whole one, which needs no other host than that of all modules,
# and gives one commit one answer. What became known after its date is not in it. To bring it up to date, set both lines to what
# `go mod download -json golang.org/x/vulndb@latest` says; or GOVULNDB=URL checks against the live one.
#
# govulncheck reads the programs, and not their sources: what the linker left out is not in them, and it takes seconds. It cannot
# tell whether what is linked is ever called. The plugin is looked at as it is for this machine. The tools under hack/tools, which nobody
# gets, are not looked at.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly database=v0.0.0-20261105234957-e22db6528018
readonly sum=h1:mfngRv0Yoh0VApsXKEN82CjD99kl7mtparN3bs3JnqI=

# By ID and module, which is stdlib for the standard library. That is the one of the Go that builds: Go 1.26.10 and 1.27.3 have all
# of these fixed, and when no machine builds with an older one, they go. Until then, this is why each does no harm here. A module
# that has a fix is brought up to date instead.
declare -A waived=(
  [GO-2026-6599@stdlib]="JavaScript in an HTML template: no page of the programs has any"
  [GO-2026-6600@stdlib]="likewise"
  [GO-2026-6603@stdlib]="HTTP/2 servers: those of serve and controller are of golang.org/x/net, which go.mod has fixed, and sign-csr speaks HTTP/1; net/http's own serves no port"
  [GO-2026-6605@stdlib]="CONNECT with a body: no request of the programs is one"
  [GO-2026-6607@stdlib]="servers with keys for encrypted client hellos: none has any"
  [GO-2026-6608@stdlib]="forms of several parts: none is read, unless by the profiler, which has to be requested by --profiling"
  [GO-2026-6609@stdlib]="many ranges in one request: only /openapi answers ranges, to who is authenticated, and one request costs at most what its header of 1 MiB does"
  [GO-2026-6610@stdlib]="a proxy from HTTP/2 to HTTP/1: none is one"
  [GO-2026-6611@stdlib]="as GO-2026-6603 for servers; a client talks HTTP/2 with kube-apiserver alone"
  [GO-2026-6612@stdlib]="as GO-2026-6603"
  [GO-2026-6613@stdlib]="an answer of 2xx to CONNECT: no handler gives one"
  [GO-2026-6617@stdlib]="as GO-2026-6603"
  [GO-2026-6809@stdlib]="chains to the roots of the system: the programs verify by bundles of the cluster; the plugin by those roots only where a kubeconfig names no CA"
)

where="${GOVULNDB:-}"
if [ -z "$where" ]; then
  # Outside of the module, whose go.sum has nothing of it.
  got="$(cd / && GOWORK=off GOFLAGS= go mod download -json "golang.org/x/vulndb@$database")"
  field() { sed -n "s|^[[:space:]]*\"$1\": \"\\(.*\\)\",\\{0,1\\}\$|\\1|p" <<<"$got"; }
  if [ "$(field Sum)" != "$sum" ]; then
    echo "golang.org/x/vulndb@$database has the checksum $(field Sum), want $sum" >&2
    exit 1
  fi
  where="file://$(field Dir)/data/osv"
  echo "database of ${database:7:4}-${database:11:2}-${database:13:2}; GOVULNDB=URL asks another"
fi

go mod verify
hack/build-tools.sh govulncheck
programs=bin/vulnerabilities
CGO_ENABLED=0 go build -trimpath -o "$programs/" ./cmd/certrotation ./cmd/kubectl-certrotation
failed=0
for program in "$programs"/*; do
  said=0
  report="$(bin/tools/govulncheck -mode=binary -db="$where" "$program")" || said=$?
  # 3 says that something was found.
  if [ "$said" != 0 ] && [ "$said" != 3 ]; then
    echo "$report" >&2
    exit 1
  fi
  # What is linked of the standard library has the version of Go.
  found="$(awk '
    /^Vulnerability #/ { id = $3 }
    $1 == "Found" { where = $3 ~ /@go[0-9]/ ? "stdlib" : $3; sub(/@v.*/, "", where); print id "@" where }
  ' <<<"$report" | sort -u)"
  count=0
  unwaived=""
  for one in $found; do
    if [ -n "${waived[$one]:-}" ]; then count=$((count + 1)); else unwaived+=" $one"; fi
  done
  if [ "$said" = 3 ] && [ -z "$found" ]; then
    echo "$report" >&2
    echo "govulncheck has found something, and its report is not understood" >&2
    failed=1
  elif [ -n "$unwaived" ]; then
    echo "$report" >&2
    echo "$program is vulnerable:$unwaived (the report is above)" >&2
    failed=1
  else
    echo "$program: $count known vulnerabilities are linked, all waived with a reason ($(go env GOVERSION))"
  fi
done
exit "$failed"
