// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/util/retry"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

var (
	errMissing = errors.New("the Secret does not exist; it is made without being asked for")
	// errAnswered means that the record of an answered request still exists.
	errAnswered = errors.New("a former request was answered and its record is about to be deleted")
)

// request writes a request to its record and waits until the inventory has observed it. A Secret has one request of
// each kind. An existing one stays, unless the new one adds that the key is compromised. A dry run passes the API
// server's admission chain and writes nothing.
func (a *Actions) request(ctx context.Context, t *target, asked *trust.Request, dryRun []string) error {
	if !t.object.Present {
		return apierrors.NewConflict(resource(), t.name, errMissing)
	}
	asked.Secret = t.name
	var written string
	err := retry.OnError(retry.DefaultBackoff, isRaced, func() (err error) {
		written, err = a.writeRequest(ctx, t, asked, dryRun)
		return err
	})
	switch {
	case errors.Is(err, errAnswered):
		return apierrors.NewConflict(resource(), t.name, errAnswered)
	case err != nil:
		return writeError(t.name, err)
	case written == "" || len(dryRun) > 0:
		return nil
	}
	a.awaitRecord(ctx, t.namespace, record.RequestName(asked.Kind, t.name), written)
	return nil
}

func isRaced(err error) bool { return isRace(err) || errors.Is(err, errAnswered) }

// writeRequest makes one attempt. It returns the version of the record, "" if the request exists already.
func (a *Actions) writeRequest(ctx context.Context, t *target, asked *trust.Request, dryRun []string) (string, error) {
	wanted, err := record.OfRequest(t.namespace, t.domain.Name, asked, userName(ctx))
	if err != nil {
		return "", apierrors.NewInternalError(err)
	}
	records := a.client.ConfigV1alpha1().RotationRecords(t.namespace)
	made, err := records.Create(ctx, wanted, record.CreateOptions(fieldManager, dryRun))
	if !apierrors.IsAlreadyExists(err) {
		return versionOf(made, err)
	}
	standing, err := records.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", apierrors.NewConflict(resource(), t.name, errAnswered)
	}
	if err != nil {
		return "", err
	}
	if answered := t.object.Annotations[trust.AnnotationAnswered]; answered != "" && answered == string(standing.UID) {
		return "", errAnswered
	}
	if former, err := record.Decode(standing); err == nil && addsNothing(former.Request, asked) {
		warning.AddWarning(ctx, "", "this was requested already by "+former.RequestedBy+" and is waited for")
		return "", nil
	}
	// Replace the request: it newly says that the key is compromised, or has another CA, or the existing record is
	// unreadable.
	wanted.ResourceVersion = standing.ResourceVersion
	return versionOf(records.Update(ctx, wanted, record.UpdateOptions(fieldManager, dryRun)))
}

// addsNothing reports whether a request says what the former one does.
func addsNothing(former, asked *trust.Request) bool {
	return (former.Compromised || !asked.Compromised) && slices.EqualFunc(former.Certificates, asked.Certificates, (*pki.Certificate).Equal)
}
