// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

// Request is a request of a client.
type Request struct {
	// Number counts writes from 1; it is 0 for reads.
	Number          int
	Verb            string
	Resource        schema.GroupVersionResource
	Subresource     string
	Namespace, Name string
	// Object is the written object before the server's rules apply. For a deletion it is the existing object. A read
	// has none.
	Object metav1.Object
	// Preconditions are the preconditions of a deletion.
	Preconditions *metav1.Preconditions
	DryRun        bool
}

// String returns the request in the form "update secrets web-signer".
func (r *Request) String() string {
	resource := r.Resource.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return r.Verb + " " + resource + " " + r.Name
}

// requestOf returns the request of a client's action. A write has its object if the client sends one.
func requestOf(action clienttesting.Action) *Request {
	r := &Request{Verb: action.GetVerb(), Resource: action.GetResource(), Subresource: action.GetSubresource(), Namespace: action.GetNamespace()}
	sends := func(o runtime.Object, dryRun []string) {
		r.DryRun = len(dryRun) > 0
		if accessor, ok := o.(metav1.Object); ok {
			r.Object, r.Name = accessor, accessor.GetName()
		}
	}
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		sends(action.Object, action.CreateOptions.DryRun)
		if action.Name != "" {
			r.Name = action.Name
		}
	case clienttesting.UpdateActionImpl:
		sends(action.Object, action.UpdateOptions.DryRun)
	case clienttesting.PatchActionImpl:
		r.Name, r.DryRun = action.Name, len(action.PatchOptions.DryRun) > 0
	case clienttesting.DeleteActionImpl:
		r.Name, r.DryRun, r.Preconditions = action.Name, len(action.DeleteOptions.DryRun) > 0, action.DeleteOptions.Preconditions
	case clienttesting.GetActionImpl:
		r.Name = action.Name
	}
	return r
}
