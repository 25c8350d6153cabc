// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"certrotation.dev/controller/secrets/kinds"
)

// GenerateOption determines how a secret is made and kept.
type GenerateOption func(*generateOptions)

type generateOptions struct {
	persist        bool
	strategy       Strategy
	ignoreOld      bool
	ignoreOldAfter *time.Duration
	validity       time.Duration
	renewAfter     int
	bareName       bool
	namespace      string
	labels         map[string]string
	signer         *signedBy
	// bundleFor is the name whose bundle this is.
	bundleFor string
}

// Strategy is what becomes of the former edition of a secret.
type Strategy string

const (
	// InPlace forgets it, so that Cleanup may delete it.
	InPlace Strategy = "inplace"
	// KeepOld keeps it as the old one, and in the bundle.
	KeepOld Strategy = "keepold"
)

// Persist labels the Secret as one to keep when its namespace moves to another cluster.
func Persist() GenerateOption { return func(o *generateOptions) { o.persist = true } }

// Rotate sets what becomes of the former edition; the default is InPlace.
func Rotate(strategy Strategy) GenerateOption {
	return func(o *generateOptions) { o.strategy = strategy }
}

// IgnoreOldSecrets forgets former editions, as the last phase of a rotation does.
func IgnoreOldSecrets() GenerateOption { return func(o *generateOptions) { o.ignoreOld = true } }

// IgnoreOldSecretsAfter forgets former editions once the current one has this age.
func IgnoreOldSecretsAfter(d time.Duration) GenerateOption {
	return func(o *generateOptions) { o.ignoreOldAfter = &d }
}

// Validity is how long the secret is valid. A certificate has that in its configuration instead.
func Validity(d time.Duration) GenerateOption {
	return func(o *generateOptions) { o.validity = d }
}

// RenewAfterValidityPercentage renews after this part of the validity; 0 means the default of 80.
func RenewAfterValidityPercentage(percentage int) GenerateOption {
	return func(o *generateOptions) { o.renewAfter = percentage }
}

// IgnoreConfigChecksumForCASecretName leaves the hash of the configuration out of the name of a CA Secret.
func IgnoreConfigChecksumForCASecretName() GenerateOption {
	return func(o *generateOptions) { o.bareName = true }
}

// Namespace makes the secret in this namespace instead of the first one.
func Namespace(namespace string) GenerateOption {
	return func(o *generateOptions) { o.namespace = namespace }
}

// WithLabels adds labels to the Secret, except those that the library sets itself.
func WithLabels(labels map[string]string) GenerateOption {
	return func(o *generateOptions) { o.labels = maps.Clone(labels) }
}

// SignedByCAOption selects which edition of a CA signs a certificate, and where it is looked for.
type SignedByCAOption func(*signedBy)

type signedBy struct {
	name    string
	class   class
	missing bool
}

// SignedByCA signs a certificate with a CA that this instance has generated. By default, the current CA signs
// clients, and the old CA signs servers as long as it exists. Clients must trust the current CA before servers use
// it.
func SignedByCA(name string, options ...SignedByCAOption) GenerateOption {
	by := &signedBy{name: name}
	for _, option := range options {
		option(by)
	}
	return func(o *generateOptions) { o.signer = by }
}

// UseCurrentCA signs servers with the current CA. Use it where clients and servers change at once.
func UseCurrentCA(s *signedBy) { s.class = classCurrent }

// UseOldCA signs clients with the old CA while it exists. Use it where the client changes before the server.
func UseOldCA(s *signedBy) { s.class = classOld }

// LoadMissingCAFromCluster looks in the cluster for a CA that this instance has not generated.
func LoadMissingCAFromCluster(s *signedBy) { s.missing = true }

func (o *generateOptions) check(config kinds.Config) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrWrongOption, fmt.Sprintf(format, args...))
	}
	certificate := certificateOf(config)
	_, alone := config.(*kinds.CertificateSecretConfig)
	switch {
	case o.signer != nil && certificate == nil:
		return refuse("SignedByCA is for certificates, and not for %T", config)
	case o.bareName && (!alone || certificate.CertType != kinds.CACert):
		return refuse("IgnoreConfigChecksumForCASecretName is for authorities, and not for %T", config)
	case !slices.Contains([]Strategy{"", InPlace, KeepOld}, o.strategy):
		return refuse("Rotate does not know %q", o.strategy)
	case o.ignoreOldAfter != nil && *o.ignoreOldAfter < 0:
		return refuse("IgnoreOldSecretsAfter is %s", *o.ignoreOldAfter)
	case o.validity < 0:
		return refuse("Validity is %s", o.validity)
	case o.renewAfter < 0 || o.renewAfter > 100:
		return refuse("RenewAfterValidityPercentage is %d", o.renewAfter)
	}
	return nil
}
