// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Option configures an instance.
type Option func(*settings)

type settings struct {
	namespaces  []string
	authorities bool
	given       map[string]time.Time
	noRenewal   bool
	planOnly    bool
	keys        Keys
	metrics     *Metrics
	recorder    events.EventRecorder
	regarding   runtime.Object
}

// WithNamespaces are the namespaces in which the instance keeps Secrets; at least one. The first is where Generate makes them unless
// its option Namespace says another one.
func WithNamespaces(namespaces ...string) Option {
	return func(s *settings) { s.namespaces = namespaces }
}

// WithCASecretAutoRotation has authorities be renewed like everything else. Without it somebody else says when: whoever trusts a CA
// has to get the next one in time.
func WithCASecretAutoRotation() Option {
	return func(s *settings) { s.authorities = true }
}

// WithSecretNamesToTimes are when the rotation of names was last begun. They count more than what Secrets say.
func WithSecretNamesToTimes(times map[string]time.Time) Option {
	return func(s *settings) { s.given = maps.Clone(times) }
}

// WithoutAutomaticSecretRenewal renews nothing, and takes times of rotation from WithSecretNamesToTimes alone. New reads nothing then.
func WithoutAutomaticSecretRenewal() Option {
	return func(s *settings) { s.noRenewal = true }
}

// WithPlanOnly writes nothing: Plan says afterwards what would have been done. Data that would have been made are made in memory.
func WithPlanOnly() Option {
	return func(s *settings) { s.planOnly = true }
}

// WithKeys has the private keys of authorities with KeyOutside.
func WithKeys(keys Keys) Option {
	return func(s *settings) { s.keys = keys }
}

// WithMetrics counts what instances do.
func WithMetrics(metrics *Metrics) Option {
	return func(s *settings) { s.metrics = metrics }
}

// WithEvents says what was done in events about an object, such as the custom resource that is reconciled.
func WithEvents(recorder events.EventRecorder, regarding runtime.Object) Option {
	return func(s *settings) { s.recorder, s.regarding = recorder, regarding }
}
