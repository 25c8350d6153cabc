// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/util/retry"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/apis/certrotation/validation"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// WaiveREST serves the subresource waive of a signer: an operator lets rotations continue without the evidence of one
// member. A new waiver replaces the former one; a waiver that ends in the past withdraws it.
type WaiveREST struct {
	actions *Actions
}

var (
	_ rest.Storage                  = (*WaiveREST)(nil)
	_ rest.NamedCreater             = (*WaiveREST)(nil)
	_ rest.GroupVersionKindProvider = (*WaiveREST)(nil)
)

// NewWaiveREST returns the storage of the subresource.
func NewWaiveREST(actions *Actions) *WaiveREST { return &WaiveREST{actions: actions} }

// New implements rest.Storage.
func (r *WaiveREST) New() runtime.Object { return &certrotation.Waiver{} }

// Destroy implements rest.Storage.
func (r *WaiveREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (r *WaiveREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return v1alpha1.SchemeGroupVersion.WithKind("Waiver")
}

// Create implements rest.NamedCreater.
func (r *WaiveREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	asked, ok := object.(*certrotation.Waiver)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is not a Waiver", object))
	}
	if errs := validation.ValidateWaiver(asked); len(errs) > 0 {
		return nil, apierrors.NewInvalid(certrotation.Kind("Waiver"), name, errs)
	}
	if err := admitted(ctx, validate, object); err != nil {
		return nil, err
	}
	target, err := r.actions.findSigner(ctx, name, "waived")
	if err != nil {
		return nil, err
	}
	now := r.actions.clock.Now()
	waiver := &trust.Waiver{
		Party: asked.Party, Member: asked.Member, Reason: asked.Reason, By: userName(ctx), Expires: endOf(asked, now),
		Rotation: trust.RotationOf(target.domain),
	}
	if waiver.Expires.After(now) {
		if err := trust.CheckWaiver(target.domain, waiver, now); err != nil {
			return nil, refused(name, err)
		}
		if waiver.Rotation.To == "" {
			warning.AddWarning(ctx, "", "no rotation is in flight: the waiver is for what waits now, and not for the next rotation")
		}
		if until := trust.Contradicted(target.domain, asked.Party, asked.Member, now); !until.IsZero() {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s was seen alive with the former CA or leaf: its waiver counts from %s on, "+
				"unless it is seen so again", trust.MemberName(asked.Party, asked.Member), until.UTC().Format(time.RFC3339)))
		}
		err = r.actions.waive(ctx, target, waiver, options.DryRun)
	} else {
		err = r.actions.withdraw(ctx, target, waiver, options.DryRun)
	}
	if err != nil {
		return nil, err
	}
	out := asked.DeepCopy()
	out.ExpiresAfter, out.Expires, out.WaivedBy = nil, &metav1.Time{Time: waiver.Expires}, waiver.By
	return out, nil
}

func endOf(asked *certrotation.Waiver, now time.Time) time.Time {
	if asked.ExpiresAfter != nil {
		return now.Add(asked.ExpiresAfter.Duration)
	}
	return asked.Expires.Time
}

// waive writes the record of a waiver and waits until the inventory has observed it.
func (a *Actions) waive(ctx context.Context, t *target, w *trust.Waiver, dryRun []string) error {
	wanted, err := record.OfWaiver(t.namespace, t.domain.Name, w)
	if err != nil {
		return writeError(t.name, err)
	}
	records := a.client.ConfigV1alpha1().RotationRecords(t.namespace)
	var version string
	err = retry.OnError(retry.DefaultBackoff, isRace, func() error {
		former, err := records.Get(ctx, wanted.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			wanted.ResourceVersion = ""
			version, err = versionOf(records.Create(ctx, wanted, record.CreateOptions(fieldManager, dryRun)))
		case err == nil:
			wanted.ResourceVersion = former.ResourceVersion
			version, err = versionOf(records.Update(ctx, wanted, record.UpdateOptions(fieldManager, dryRun)))
		}
		return err
	})
	if err != nil {
		return writeError(t.name, err)
	}
	if len(dryRun) == 0 {
		a.awaitRecord(ctx, t.namespace, wanted.Name, version)
	}
	return nil
}

// withdraw deletes the record of a waiver, if there is one, and waits until the inventory has observed the deletion.
func (a *Actions) withdraw(ctx context.Context, t *target, w *trust.Waiver, dryRun []string) error {
	name := record.WaiverName(t.domain.Name, w.Party, w.Member)
	err := a.client.ConfigV1alpha1().RotationRecords(t.namespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return writeError(t.name, err)
	}
	if len(dryRun) == 0 {
		a.await(ctx, t.namespace, func() bool {
			sources := a.inventory.Sources(t.namespace)
			return sources == nil || sources.Records[name] == nil
		})
	}
	return nil
}
