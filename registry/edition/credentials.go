// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Annotations of a RotationConfiguration that ask for operations, by Gardener's names: at once, and in the next
// maintenance window.
const (
	AnnotationOperation            = "gardener.cloud/operation"
	AnnotationMaintenanceOperation = "maintenance.gardener.cloud/operation"
)

// CredentialRotations are the states of all credentials, as status.credentials of a RotationConfiguration has them. Its
// methods change copies.
type CredentialRotations configv1alpha1.CredentialsStatus

// RotationsOf returns the states that a configuration has.
func RotationsOf(c *configv1alpha1.RotationConfiguration) CredentialRotations {
	if c.Status.Credentials == nil {
		return CredentialRotations{}
	}
	return CredentialRotations(*c.Status.Credentials.DeepCopy())
}

// CircumstancesOf returns what a configuration says of the whole. It is settled once the configuration was accepted.
func CircumstancesOf(c *configv1alpha1.RotationConfiguration) Circumstances {
	out := Circumstances{
		Settled: meta.IsStatusConditionTrue(c.Status.Conditions, configv1alpha1.ConditionAccepted),
		Leaving: c.DeletionTimestamp != nil,
	}
	if of := c.Spec.Credentials; of != nil {
		out.Leaving = out.Leaving || of.Leaving
		out.Hibernated, out.ManualUpdatePending, out.Pools = of.Hibernated, of.ManualUpdatePending, of.WorkerPools
	}
	return out
}

// AllCredentials are all of them, in a fixed order.
func AllCredentials() []Credentials {
	return []Credentials{Authorities, ServiceAccountKey, ETCDEncryptionKey}
}

func (r *CredentialRotations) state(of Credentials) *GroupRotation {
	switch of {
	case ServiceAccountKey:
		return (*GroupRotation)(&r.ServiceAccountKey)
	case ETCDEncryptionKey:
		return (*GroupRotation)(&r.ETCDEncryptionKey)
	case Authorities:
	}
	return (*GroupRotation)(&r.CertificateAuthorities)
}

// Of returns the state of credentials.
func (r CredentialRotations) Of(of Credentials) *GroupRotation { return r.state(of) }

// Do executes operations (ParseOperations) on all credentials that they concern, or on none.
func (r CredentialRotations) Do(text string, of Circumstances, now time.Time) (CredentialRotations, error) {
	operations, err := ParseOperations(text)
	if err != nil {
		return r, err
	}
	after := r
	var refused []error
	for _, o := range operations {
		for _, c := range after.concerned(o) {
			state, err := after.state(c).Do(o.on(c), of, now)
			if err != nil {
				refused = append(refused, fmt.Errorf("%s: %w", c, err))
				continue
			}
			*after.state(c) = state
		}
	}
	if err := errors.Join(refused...); err != nil {
		return r, err
	}
	// A start and an abort make another key the current one.
	if !after.ETCDEncryptionKey.LastInitiationTime.Equal(r.ETCDEncryptionKey.LastInitiationTime) {
		after.Rewritten = false
	}
	return after, nil
}

// concerned returns the credentials that an operation is about. The rollout of workers is about those that wait for it,
// if any do.
func (r *CredentialRotations) concerned(o Operation) []Credentials {
	out := slices.DeleteFunc(AllCredentials(), func(c Credentials) bool { return !o.Concerns(c) })
	if does, _, _ := o.parse(); does != verbRollout {
		return out
	}
	waiting := slices.DeleteFunc(slices.Clone(out), func(c Credentials) bool { return r.state(c).Phase != WaitingForWorkersRollout })
	if len(waiting) > 0 {
		return waiting
	}
	return out
}

// on returns the operation as it is for some of the credentials that it concerns: workers have no encryption key, so
// nothing waits for their rollout.
func (o Operation) on(c Credentials) Operation {
	if does, _, _ := o.parse(); c == ETCDEncryptionKey && does == verbStartWithoutWorkers {
		return Operation(strings.TrimSuffix(string(o), string(verbStartWithoutWorkers)) + string(verbStart))
	}
	return o
}

// Reconciled returns the states after a reconciliation in which everything was delivered, and everything that is stored
// rewritten if it had to be (Rewrites).
func (r CredentialRotations) Reconciled(of Circumstances, now time.Time) CredentialRotations {
	r.Rewritten = r.Rewritten || r.Rewrites()
	for _, c := range AllCredentials() {
		state := r.state(c)
		if c == Authorities {
			*state = state.Reconciled(of, now)
		} else {
			*state = state.KeyReconciled(of, now)
		}
	}
	return r
}

// Rewrites reports whether every replica encrypts by a key that has not encrypted everything yet.
func (r CredentialRotations) Rewrites() bool {
	k := r.Of(ETCDEncryptionKey)
	return k.Phase != "" && (!k.Prepares() || k.KeyKnown) && !k.DropsFormer() && !r.Rewritten
}

// hibernates refuses hibernation while tokens or stored data are being rewritten.
func (r CredentialRotations) hibernates() error {
	for c, busy := range map[Credentials][]Phase{
		ETCDEncryptionKey: {Preparing, Completing}, ServiceAccountKey: {Preparing, PreparingWithoutWorkersRollout, Completing},
	} {
		if phase := r.Of(c).Phase; slices.Contains(busy, phase) {
			return fmt.Errorf("%w: hibernation while %s is in the phase %s: wait for its end", ErrOperation, c, phase)
		}
	}
	return nil
}

// JudgeEdit refuses an edit of a configuration that asks for what is not possible now. old is nil for a new one. The
// error wraps ErrOperation and names the phase.
func JudgeEdit(old, changed *configv1alpha1.RotationConfiguration, now time.Time) error {
	var before configv1alpha1.RotationConfiguration
	if old != nil {
		before = *old
	}
	rotations, of := RotationsOf(changed), CircumstancesOf(changed)
	if of.Hibernated && !CircumstancesOf(&before).Hibernated {
		if err := rotations.hibernates(); err != nil {
			return err
		}
	}
	asked, added := askedBy(&before, changed)
	switch {
	case len(added) == 0:
		return nil
	case changed.Spec.Credentials == nil:
		return fmt.Errorf("%w: the configuration has no spec.credentials; add it, {} if there are no workers", ErrOperation)
	}
	for _, text := range added {
		if _, err := rotations.Do(text, of, now); err != nil {
			return err
		}
	}
	_, err := ParseOperations(strings.Join(asked, ";"))
	return err
}

// askedBy returns what the annotations of a configuration ask for, and those texts that an edit has added.
func askedBy(before, changed *configv1alpha1.RotationConfiguration) (asked, added []string) {
	for _, annotation := range []string{AnnotationOperation, AnnotationMaintenanceOperation} {
		text, is := changed.Annotations[annotation]
		if !is {
			continue
		}
		asked = append(asked, text)
		if was, had := before.Annotations[annotation]; !had || was != text {
			added = append(added, text)
		}
	}
	return asked, added
}
