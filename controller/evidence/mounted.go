// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/podcontent"
	"certrotation.dev/registry/trust"
)

var mountedObserver = observer{kind: trust.Mounted, has: hasPod, observe: (*Collector).lookMounted}

// lookMounted observes a pod that mounts immutable objects: the only process of the member. It fails only if the API
// server cannot be asked.
func (c *Collector) lookMounted(ctx context.Context, s *subject) ([]trust.Observation, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o, err := c.mounts(reading, s)
	if err != nil {
		return nil, err
	}
	now := c.now()
	o.Kind, o.Address, o.ObservedAt, o.Expires = s.relying.Kind, s.relying.Mounts.Place(), now, now.Add(lease)
	return []trust.Observation{*o}, nil
}

// mounts returns what a pod has loaded of the objects that it mounts. It reads the pod before the objects.
func (c *Collector) mounts(ctx context.Context, s *subject) (*trust.Observation, error) {
	pod, process, err := c.runningPod(ctx, s)
	if err != nil {
		return nil, err
	}
	if process == "" {
		return s.runsNothing(), nil
	}
	asked := &podcontent.MountRequirement{Mounts: s.relying.Mounts, Configuration: s.d.Configuration}
	if before := s.samePod(); before != nil {
		return &trust.Observation{Instance: process, Trusts: before.Trusts, Presents: before.Presents}, nil
	}
	references, fault := asked.References(pod)
	if fault != "" {
		return &trust.Observation{Instance: process, Failure: fault}, nil
	}
	for i := range references {
		if references[i].Object, err = c.mountedObject(ctx, s.namespace, &references[i]); err != nil {
			return nil, err
		}
	}
	proof := asked.Prove(pod, references)
	return &trust.Observation{Instance: process, Trusts: proof.Trusts, Presents: proof.Presents, Failure: proof.Failure}, nil
}

// samePod returns what was proven of the same pod in the same volumes, with any containers and at any time.
// It is nil if there is no proof.
func (s *subject) samePod() *trust.Observation {
	for i := range s.member.Observations {
		o := &s.member.Observations[i]
		if o.Kind == s.relying.Kind && o.Failure == "" && o.Address == s.relying.Mounts.Place() && strings.HasPrefix(o.Instance, s.member.Instance+"/") {
			return o
		}
	}
	return nil
}

// mountedObject reads an object as it is now, or nil if it does not exist. It reads Secrets whole, because hashes
// cover everything, and overwrites them at once.
func (c *Collector) mountedObject(ctx context.Context, namespace string, r *podcontent.Reference) (*podcontent.Object, error) {
	switch r.Kind {
	case trust.SecretKind:
		secret, err := c.client.CoreV1().Secrets(namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return nil, unlessMissing(err, namespace, r)
		}
		defer func() {
			for _, value := range secret.Data {
				clear(value)
			}
		}()
		return podcontent.OfSecret(secret, r.Key), nil
	default:
		configMap, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return nil, unlessMissing(err, namespace, r)
		}
		return podcontent.OfConfigMap(configMap, r.Key), nil
	}
}

func unlessMissing(err error, namespace string, r *podcontent.Reference) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("read %s %s/%s, which a pod mounts: %w", r.Kind, namespace, r.Name, err)
}
