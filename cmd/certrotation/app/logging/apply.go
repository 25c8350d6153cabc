// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"errors"
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// MaxVerbosity is the highest one at which client-go prints no body.
const MaxVerbosity = 7

// Apply configures the logs of the process. It is called once, before anything is logged.
func Apply(config *logsapi.LoggingConfiguration) error {
	if err := check(config); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(config, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("apply the logging flags: %w", err)
	}
	return nil
}

// check returns everything that would have bodies logged.
func check(config *logsapi.LoggingConfiguration) error {
	var errs []error
	if config.Verbosity > MaxVerbosity {
		errs = append(errs, fmt.Errorf("-v=%d: %w", config.Verbosity, errBodies))
	}
	for _, item := range config.VModule {
		if item.Verbosity > MaxVerbosity {
			errs = append(errs, fmt.Errorf("--vmodule=%s=%d: %w", item.FilePattern, item.Verbosity, errBodies))
		}
	}
	return errors.Join(errs...)
}

var errBodies = fmt.Errorf("the verbosity is %d at most: above it the bodies of requests are logged, and they hold private keys", MaxVerbosity)
