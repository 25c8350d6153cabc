// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/display"
)

type table struct {
	clock clock.PassiveClock
}

var _ rest.TableConvertor = (*table)(nil)

// NewTable converts CertificateRotations into tables. Durations are relative to the clock.
func NewTable(clk clock.PassiveClock) rest.TableConvertor {
	return &table{clock: clk}
}

func headers() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the Secret."},
		{Name: "Role", Type: "string", Description: "Signer or Leaf."},
		{Name: "Signer", Type: "string", Description: "Secret of the signer."},
		display.Stage(),
		{Name: "Trusted", Type: "string", Description: "Members that have loaded the CA that they need, of all that must; ? for those of whom nothing is known."},
		{Name: "Expires", Type: "string", Description: "Time until the certificate expires."},
		{Name: "Rotates", Type: "string", Description: "Time until the certificate is due for rotation."},
		{Name: "Ready", Type: "string", Description: "Whether the certificate is usable."},
		{Name: "Age", Type: "string", Description: "Time since the Secret was created."},
		{Name: "Serial", Type: "string", Priority: 1, Description: "Serial number of the certificate."},
		{Name: "Key", Type: "string", Priority: 1, Description: "Key algorithm of the certificate."},
		{Name: "Blocker", Type: "string", Priority: 1, Description: "What the rotation waits for first."},
	}
}

// ConvertToTable implements rest.TableConvertor.
func (t *table) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return display.Table(object, options, headers(), t.row)
}

func (t *table) row(object runtime.Object) ([]any, error) {
	rotation, err := typed(object)
	if err != nil {
		return nil, err
	}
	now, status := t.clock.Now(), &rotation.Status
	expires, serial, key := display.None, display.None, display.None
	if c := status.Certificate; c != nil {
		expires = display.Until(&c.NotAfter, now, "expired")
		serial, key = c.SerialNumber, c.KeyAlgorithm
	}
	return []any{
		rotation.Name,
		string(rotation.Spec.Role),
		rotation.Spec.Signer,
		string(status.Stage),
		display.Trust(status.Trust),
		expires,
		display.Until(status.RotatesAt, now, "due"),
		display.Ready(status.Conditions),
		display.Age(rotation.CreationTimestamp, now),
		serial,
		key,
		display.Blocker(status.Blockers),
	}, nil
}
