// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"certrotation.dev/registry/edition"
)

// Option configures an instance.
type Option func(*settings)

type settings struct {
	namespaces  []string
	authorities bool
	given       map[string]time.Time
	// rotating are the recorded states of WithGroupRotation, by name.
	rotating  map[string]*edition.GroupRotation
	noRenewal bool
	planOnly  bool
	// configuration is the RotationConfiguration that everything consents to, "" for none.
	configuration string
	keys          Keys
	metrics       *Metrics
	recorder      events.EventRecorder
	regarding     runtime.Object
}

// WithNamespaces sets the namespaces in which the instance keeps Secrets, at least one. Generate uses the first
// unless its option Namespace names another.
func WithNamespaces(namespaces ...string) Option {
	return func(s *settings) { s.namespaces = namespaces }
}

// WithCASecretAutoRotation renews CAs like everything else. Without it, the user of the library decides when: relying
// parties must get the next CA in time.
func WithCASecretAutoRotation() Option {
	return func(s *settings) { s.authorities = true }
}

// WithSecretNamesToTimes sets when the rotation of names last began. It takes precedence over what Secrets say.
func WithSecretNamesToTimes(times map[string]time.Time) Option {
	return func(s *settings) { s.given = maps.Clone(times) }
}

// WithoutAutomaticSecretRenewal renews nothing, and takes rotation times only from WithSecretNamesToTimes and
// WithGroupRotation. New then reads nothing but for a group that has no time.
func WithoutAutomaticSecretRenewal() Option {
	return func(s *settings) { s.noRenewal = true }
}

// lacksTimes reports whether only the Secrets say when the rotation of a group began.
func (s *settings) lacksTimes() bool {
	for _, state := range s.rotating {
		if state.LastInitiationTime == nil {
			return true
		}
	}
	return false
}

// WithPlanOnly writes nothing: Plan returns what would have been done. New data are made in memory.
func WithPlanOnly() Option {
	return func(s *settings) { s.planOnly = true }
}

// WithConfiguration gives the consent of all that the instance keeps to a RotationConfiguration of its namespace, whose
// trust domains have the same identity (editions). If certrotation then refuses an edition, as a relying party has not
// loaded what it needs, Generate returns the one before. Plan has the reason (edition.Hold): go on to no other phase
// until there is none.
func WithConfiguration(name string) Option {
	return func(s *settings) { s.configuration = name }
}

// WithKeys provides the private keys of CAs with KeyOutside.
func WithKeys(keys Keys) Option {
	return func(s *settings) { s.keys = keys }
}

// WithMetrics counts what instances do.
func WithMetrics(metrics *Metrics) Option {
	return func(s *settings) { s.metrics = metrics }
}

// WithEvents reports what was done in events about an object, such as the custom resource that is reconciled.
func WithEvents(recorder events.EventRecorder, regarding runtime.Object) Option {
	return func(s *settings) { s.recorder, s.regarding = recorder, regarding }
}
