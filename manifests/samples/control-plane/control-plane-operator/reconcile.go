// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/secrets"
	"certrotation.dev/registry/edition"
)

const (
	// identity of the Secrets, and the field manager of the workloads.
	identity = "control-plane-operator"
	// configuration is the RotationConfiguration of each namespace.
	configuration = "control-plane"
)

type operator struct {
	client  kubernetes.Interface
	objects dynamic.Interface
}

// reconcile brings a control plane one step further. It does not wait: what is not there yet is looked for in the next
// reconciliation.
func (o *operator) reconcile(ctx context.Context, namespace string) error {
	plane, err := o.load(ctx, namespace)
	if err != nil {
		return err
	}
	asked, err := o.asked(ctx, namespace)
	if err != nil {
		return err
	}
	if err := plane.operate(ctx, asked, time.Now()); err != nil {
		return err
	}
	instance, err := secrets.New(ctx, clock.RealClock{}, o.client.CoreV1(), identity, secrets.WithNamespaces(namespace),
		secrets.WithConfiguration(configuration),
		secrets.WithGroupRotation(&plane.states.Authorities, authorities()...),
		secrets.WithGroupRotation(&plane.states.ServiceAccountKey, serviceAccountKey),
		secrets.WithGroupRotation(&plane.states.EncryptionKey, encryptionKey))
	if err != nil {
		return fmt.Errorf("read the secrets of %s: %w", namespace, err)
	}
	made, err := generate(ctx, instance, namespace, &plane.states)
	if err != nil {
		return err
	}
	if err := o.composeKeys(ctx, namespace, made); err != nil {
		return err
	}
	running, err := o.deploy(ctx, namespace, made)
	if err != nil {
		return err
	}
	if err := instance.Cleanup(ctx); err != nil {
		return err
	}
	held := instance.Plan().Of(edition.Hold)
	for i := range held {
		klog.FromContext(ctx).V(1).Info("Held secret", "namespace", namespace, "step", held[i].String())
	}
	if !running || len(held) > 0 {
		return nil
	}
	if plane.states.rewrites() {
		if err := o.rewrite(ctx, namespace, made); err != nil {
			return err
		}
	}
	return plane.reconciled(ctx, time.Now())
}

// rotations are certrotation's rows.
var rotations = schema.GroupVersionResource{Group: "certrotation.dev", Version: "v1alpha1", Resource: "certificaterotations"}

// asked returns the operation that somebody has asked for by kubectl certrotation, "" for none. All authorities rotate
// together, so one request is enough.
func (o *operator) asked(ctx context.Context, namespace string) (edition.Operation, error) {
	list, err := o.objects.Resource(rotations).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("list the rotations of %s: %w", namespace, err)
	}
	for i := range list.Items {
		blockers, _, err := unstructured.NestedSlice(list.Items[i].Object, "status", "blockers")
		if err != nil {
			return "", fmt.Errorf("read the rotations of %s: %w", namespace, err)
		}
		for _, blocker := range blockers {
			b, _ := blocker.(map[string]any)
			switch b["reason"] {
			case "RotationQueued":
				return edition.OperationStart, nil
			case "AbortRequested":
				return edition.OperationAbort, nil
			}
		}
	}
	return "", nil
}

// circumstances of a control plane: it has no workers.
var circumstances = edition.Circumstances{Settled: true}

func (o *operator) load(ctx context.Context, namespace string) (*plane, error) {
	declared, err := o.client.CoreV1().ConfigMaps(namespace).Get(ctx, planeName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the control plane %s: %w", namespace, err)
	}
	return newPlane(o.client.CoreV1().ConfigMaps(namespace), declared)
}
