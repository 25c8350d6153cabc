// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Credentials are what rotates together.
type Credentials string

// Credentials, by the names that operations have for them.
const (
	Authorities       Credentials = "ca"
	ServiceAccountKey Credentials = "serviceaccount-key"
	ETCDEncryptionKey Credentials = "etcd-encryption-key"

	// everything are all credentials.
	everything = "credentials"
)

// needsWorkers reports whether credentials cannot rotate while nothing runs: tokens and stored data are rewritten.
func needsWorkers(c Credentials) bool { return c != Authorities }

// Operation is what a user asks for, by the name that Gardener gives it in the annotation gardener.cloud/operation:
//
//	rotate-CREDENTIALS-start                           and rotate-credentials-start for all of them
//	rotate-CREDENTIALS-start-without-workers-rollout   not for etcd-encryption-key alone
//	rotate-CREDENTIALS-complete
//	rotate-CREDENTIALS-abort                           not one of Gardener's
//	rotate-rollout-workers=POOL,...                    or * for all
type Operation string

// Operations on authorities and on all credentials.
const (
	OperationStart                         Operation = "rotate-ca-start"
	OperationStartWithoutWorkersRollout    Operation = "rotate-ca-start-without-workers-rollout"
	OperationComplete                      Operation = "rotate-ca-complete"
	OperationAbort                         Operation = "rotate-ca-abort"
	OperationStartAll                      Operation = "rotate-credentials-start"
	OperationStartAllWithoutWorkersRollout Operation = "rotate-credentials-start-without-workers-rollout"
	OperationCompleteAll                   Operation = "rotate-credentials-complete"
)

const (
	operationPrefix = "rotate-"
	rolloutWorkers  = "rotate-rollout-workers"
	everyPool       = "*"

	maxOperations       = 16
	maxPoolsOfOperation = 1000
	maxPool             = 253
)

// ErrOperation is wrapped by the refusals of operations.
var ErrOperation = errors.New("operation refused")

type verb string

const (
	unknownVerb             verb = ""
	verbStart               verb = "start"
	verbStartWithoutWorkers verb = "start-without-workers-rollout"
	verbComplete            verb = "complete"
	verbAbort               verb = "abort"
	verbRollout             verb = "rollout"
)

// parse returns what an operation does with which credentials. Only the rollout of workers has pools.
func (o Operation) parse() (verb, []Credentials, []string) {
	if name, pools, found := strings.Cut(string(o), "="); found {
		if name != rolloutWorkers {
			return unknownVerb, nil, nil
		}
		return verbRollout, []Credentials{Authorities, ServiceAccountKey}, strings.Split(pools, ",")
	}
	rest, ok := strings.CutPrefix(string(o), operationPrefix)
	if !ok {
		return unknownVerb, nil, nil
	}
	for _, does := range []verb{verbStart, verbStartWithoutWorkers, verbComplete, verbAbort} {
		name, ok := strings.CutSuffix(rest, "-"+string(does))
		switch c := Credentials(name); {
		case !ok:
		case name == everything:
			return does, AllCredentials(), nil
		case c == Authorities || c == ServiceAccountKey, c == ETCDEncryptionKey && does != verbStartWithoutWorkers:
			return does, []Credentials{c}, nil
		}
	}
	return unknownVerb, nil, nil
}

// Concerns reports whether an operation is about credentials.
func (o Operation) Concerns(c Credentials) bool {
	_, concerned, _ := o.parse()
	return slices.Contains(concerned, c)
}

// excludes reports whether two operations contradict each other. The rollout of workers goes with any.
func (o Operation) excludes(other Operation) bool {
	does, concerned, _ := o.parse()
	otherDoes, _, _ := other.parse()
	return does != verbRollout && otherDoes != verbRollout && slices.ContainsFunc(concerned, other.Concerns)
}

// ParseOperations parses the value of an annotation: operations separated by semicolons. It refuses unknown ones, and
// those that contradict each other.
func ParseOperations(text string) ([]Operation, error) {
	parts := strings.Split(text, ";")
	if len(parts) > maxOperations {
		return nil, fmt.Errorf("%w: more than %d operations", ErrOperation, maxOperations)
	}
	var out []Operation
	for _, part := range parts {
		o := Operation(strings.TrimSpace(part))
		if does, _, _ := o.parse(); does == unknownVerb {
			return nil, fmt.Errorf("%w: %.64q is unknown", ErrOperation, o)
		}
		if slices.Contains(out, o) {
			return nil, fmt.Errorf("%w: %s is given twice", ErrOperation, o)
		}
		if i := slices.IndexFunc(out, o.excludes); i >= 0 {
			return nil, fmt.Errorf("%w: %s and %s exclude each other", ErrOperation, out[i], o)
		}
		out = append(out, o)
	}
	return out, nil
}
