// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// debugFlags is where a generic API server that profiles lets its flags be set.
const debugFlags = "/debug/flags"

// maxFlag bounds the body of a request for a verbosity: a few digits.
const maxFlag = 64

// LimitDebugFlags passes requests on, but for those that would set a verbosity above the limit, or anything else than the
// verbosity.
func LimitDebugFlags(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flag, ok := strings.CutPrefix(r.URL.Path, debugFlags+"/")
		if !ok || r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxFlag))
		level, notNumber := strconv.ParseUint(string(body), 10, 31)
		if err != nil || flag != "v" || notNumber != nil || level > MaxVerbosity {
			http.Error(w, errBodies.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
