// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// maxVerbosity is the highest verbosity at which client-go logs no request bodies.
const maxVerbosity = 7

// ApplyLogging configures the logs of the process. Call it once, before anything is logged.
func ApplyLogging(config *logsapi.LoggingConfiguration) error {
	if err := check(config); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(config, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("apply the logging flags: %w", err)
	}
	return nil
}

// check returns an error for each setting that makes client-go log bodies.
func check(config *logsapi.LoggingConfiguration) error {
	var errs []error
	if config.Verbosity > maxVerbosity {
		errs = append(errs, fmt.Errorf("-v=%d: %w", config.Verbosity, errBodies))
	}
	for _, item := range config.VModule {
		if item.Verbosity > maxVerbosity {
			errs = append(errs, fmt.Errorf("--vmodule=%s=%d: %w", item.FilePattern, item.Verbosity, errBodies))
		}
	}
	return errors.Join(errs...)
}

var errBodies = fmt.Errorf("the verbosity must be at most %d: above it the bodies of requests are logged, which contain private keys", maxVerbosity)

// debugFlags is the path at which a generic API server with profiling accepts flags.
const debugFlags = "/debug/flags"

// maxFlag bounds the body of a request that sets the verbosity, in bytes; a verbosity has a few digits.
const maxFlag = 64

// LimitDebugFlags refuses requests that set a verbosity above maxVerbosity or any other flag. It passes all others
// on.
func LimitDebugFlags(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flag, ok := strings.CutPrefix(r.URL.Path, debugFlags+"/")
		if !ok || r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxFlag))
		level, notNumber := strconv.ParseUint(string(body), 10, 31)
		if err != nil || flag != "v" || notNumber != nil || level > maxVerbosity {
			http.Error(w, errBodies.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
