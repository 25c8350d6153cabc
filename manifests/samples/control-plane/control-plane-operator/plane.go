// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"certrotation.dev/registry/edition"
)

const (
	// planeName is the ConfigMap that is a control plane.
	planeName = "control-plane"
	// annotationOperation says what to rotate. annotationRefused is the answer if that is not possible.
	annotationOperation = "gardener.cloud/operation"
	annotationRefused   = "control-plane.certrotation.dev/refused"
	// keyStates of the ConfigMap has the states, as JSON.
	keyStates = "rotation.json"
)

// states are what was rotated when, as in Gardener's status.credentials.rotation.
type states struct {
	Authorities       edition.GroupRotation `json:"certificateAuthorities"`
	ServiceAccountKey edition.GroupRotation `json:"serviceAccountKey"`
	EncryptionKey     edition.GroupRotation `json:"etcdEncryptionKey"`
	// Rewritten says that the current key has encrypted everything that is stored.
	Rewritten bool `json:"rewritten,omitempty"`
}

// rewrites reports whether every kube-apiserver writes by a key that has not encrypted everything yet.
func (s *states) rewrites() bool {
	k := &s.EncryptionKey
	return k.Phase != "" && (!k.Prepares() || k.KeyKnown) && !k.DropsFormer() && !s.Rewritten
}

// of returns the states by what operations call them.
func (s *states) of() map[edition.Credentials]*edition.GroupRotation {
	return map[edition.Credentials]*edition.GroupRotation{
		edition.Authorities: &s.Authorities, edition.ServiceAccountKey: &s.ServiceAccountKey, edition.ETCDEncryptionKey: &s.EncryptionKey,
	}
}

// next goes on to the next phases.
func (s *states) next(now time.Time) {
	s.Rewritten = s.Rewritten || s.rewrites()
	s.Authorities = s.Authorities.Reconciled(circumstances, now)
	s.ServiceAccountKey = s.ServiceAccountKey.KeyReconciled(circumstances, now)
	s.EncryptionKey = s.EncryptionKey.KeyReconciled(circumstances, now)
}

// do executes operations on all states that they concern, or on none.
func (s *states) do(text string, now time.Time) error {
	operations, err := edition.ParseOperations(text)
	if err != nil {
		return err
	}
	after := *s
	var refused []error
	for _, operation := range operations {
		for credentials, state := range after.of() {
			if !operation.Concerns(credentials) {
				continue
			}
			if *state, err = state.Do(operation, circumstances, now); err != nil {
				refused = append(refused, fmt.Errorf("%s: %w", credentials, err))
			}
		}
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	// A start and an abort make another key the current one.
	if !after.EncryptionKey.LastInitiationTime.Equal(s.EncryptionKey.LastInitiationTime) {
		after.Rewritten = false
	}
	*s = after
	return nil
}

// plane is a control plane as it is declared.
type plane struct {
	api      typedcorev1.ConfigMapInterface
	declared *corev1.ConfigMap
	states   states
}

func newPlane(api typedcorev1.ConfigMapInterface, declared *corev1.ConfigMap) (*plane, error) {
	p := &plane{api: api, declared: declared}
	if text := declared.Data[keyStates]; text != "" {
		if err := json.Unmarshal([]byte(text), &p.states); err != nil {
			return nil, fmt.Errorf("read %s of ConfigMap %s/%s: %w", keyStates, declared.Namespace, declared.Name, err)
		}
	}
	return p, nil
}

// operate executes the annotation, and removes it. A refusal is written in its place. Without one it does what
// certrotation was asked for, unless that is under way.
func (p *plane) operate(ctx context.Context, asked edition.Operation, now time.Time) error {
	text, annotated := p.declared.Annotations[annotationOperation]
	if !annotated {
		after := p.states
		if asked != "" && after.do(string(asked), now) == nil {
			return p.write(ctx, p.declared.DeepCopy(), &after)
		}
		return nil
	}
	changed := p.declared.DeepCopy()
	delete(changed.Annotations, annotationOperation)
	delete(changed.Annotations, annotationRefused)
	after := p.states
	if err := after.do(text, now); err != nil {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotationRefused, err.Error())
	}
	return p.write(ctx, changed, &after)
}

// reconciled goes on to the next phases. Everything that is stored is rewritten if it had to be.
func (p *plane) reconciled(ctx context.Context, now time.Time) error {
	after := p.states
	after.next(now)
	if reflect.DeepEqual(after, p.states) {
		return nil
	}
	return p.write(ctx, p.declared.DeepCopy(), &after)
}

// write stores the states. The version keeps it from overwriting what somebody has asked for meanwhile.
func (p *plane) write(ctx context.Context, changed *corev1.ConfigMap, after *states) error {
	text, err := json.Marshal(after)
	if err != nil {
		return fmt.Errorf("encode the states of %s: %w", changed.Namespace, err)
	}
	if changed.Data == nil {
		changed.Data = map[string]string{}
	}
	changed.Data[keyStates] = string(text)
	written, err := p.api.Update(ctx, changed, metav1.UpdateOptions{FieldManager: identity})
	if err != nil {
		return fmt.Errorf("write the states of %s: %w", changed.Namespace, err)
	}
	p.declared, p.states = written, *after
	return nil
}
