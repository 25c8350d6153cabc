// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"math"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// These texts of expired requests are those of kube-apiserver: clients and upstream's tests know them.
const (
	listExpired         = "The resourceVersion for the provided list is too old."
	watchExpired        = "The resourceVersion for the provided watch is too old."
	getExpired          = "The resourceVersion of the request was not issued by this server."
	inconsistentExpired = "The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list."
)

// retrySeconds is the hint for requests that may soon succeed.
const retrySeconds = 1

// newNotReady is a 503 with a hint to retry: the view is not built yet.
func newNotReady(resource schema.GroupResource) error {
	return newUnavailable(resource, "the view of the cluster is still being built", retrySeconds)
}

// newEpochUnavailable is a 503: the request needs an epoch, and none could be obtained.
func newEpochUnavailable(resource schema.GroupResource, cause error) error {
	return newUnavailable(resource, fmt.Sprintf("no epoch for the resource version of the request: %v", cause), retrySeconds)
}

// newEpochBusy is a 429: too many requests needed an epoch of their own.
func newEpochBusy(resource schema.GroupResource, wait time.Duration) error {
	message := fmt.Sprintf("the resource version of the request for %s is ahead of this server", resource)
	return apierrors.NewTooManyRequests(message, int(math.Ceil(wait.Seconds())))
}

func newUnavailable(resource schema.GroupResource, reason string, retryAfter int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusServiceUnavailable,
		Reason:  metav1.StatusReasonServiceUnavailable,
		Message: fmt.Sprintf("%s cannot be served: %s", resource, reason),
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, RetryAfterSeconds: retryAfter},
	}}
}

// newContinueExpired is a 410 with a token for continuing at the latest revision.
func newContinueExpired(key, prefix string) error {
	token, err := storage.EncodeContinue(key, prefix, -1)
	if err != nil {
		return apierrors.NewResourceExpired(listExpired)
	}
	expired := apierrors.NewResourceExpired(inconsistentExpired)
	expired.ErrStatus.ListMeta.Continue = token
	return expired
}
