// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
)

// ownClient is the client for the API of certrotation.
type ownClient struct {
	configclient.ConfigV1alpha1Interface
	leader *leader
}

func (c *ownClient) RotationRecords(string) configclient.RotationRecordInterface {
	return &recordClient{leader: c.leader}
}

type recordClient struct {
	configclient.RotationRecordInterface
	leader *leader
}

func (c *recordClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*configv1alpha1.RotationRecord, error) {
	if err := c.leader.read(); err != nil {
		return nil, err
	}
	if r := c.leader.world.api.records[name]; r != nil {
		return r.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(recordResource, name)
}

func (c *recordClient) Create(_ context.Context, r *configv1alpha1.RotationRecord, _ metav1.CreateOptions) (*configv1alpha1.RotationRecord, error) {
	return written(c.leader, "RotationRecord/"+r.Name, func() (*configv1alpha1.RotationRecord, error) {
		return c.leader.world.api.createRecord(r, c.leader.world.clock.now())
	})
}

func (c *recordClient) Update(_ context.Context, r *configv1alpha1.RotationRecord, _ metav1.UpdateOptions) (*configv1alpha1.RotationRecord, error) {
	return written(c.leader, "RotationRecord/"+r.Name, func() (*configv1alpha1.RotationRecord, error) {
		return c.leader.world.api.updateRecord(r, c.leader.world.clock.now())
	})
}

func (c *recordClient) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	_, err := written(c.leader, "RotationRecord/"+name, func() (struct{}, error) {
		if options.Preconditions == nil {
			return struct{}{}, c.leader.world.api.removeRecord(name, nil)
		}
		return struct{}{}, c.leader.world.api.removeRecord(name, options.Preconditions.UID)
	})
	return err
}
