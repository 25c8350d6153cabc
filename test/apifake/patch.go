// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// patched returns an object after a patch.
func (s *Server) patched(live object, action *clienttesting.PatchActionImpl) (object, error) {
	if action.PatchType == types.ApplyPatchType {
		return applied(live, action)
	}
	one := clienttesting.NewObjectTracker(s.kinds.scheme, serializer.NewCodecFactory(s.kinds.scheme).UniversalDecoder())
	if err := one.Create(action.Resource, live.DeepCopyObject(), action.Namespace); err != nil {
		return nil, fmt.Errorf("patch %s: %w", action.Name, err)
	}
	whole := *action
	whole.Subresource = ""
	_, changed, err := clienttesting.ObjectReaction(one)(whole)
	if err != nil {
		if strings.Contains(err.Error(), "test failed") || strings.Contains(err.Error(), "testing value") {
			return nil, apierrors.NewGenericServerResponse(422, "patch", action.Resource.GroupResource(), action.Name, err.Error(), 0, false)
		}
		return nil, err
	}
	return changed.(object), nil
}

// applied returns an object after a server-side apply of a configuration's status. The applier owns the whole status.
func applied(live object, action *clienttesting.PatchActionImpl) (object, error) {
	configuration, ok := live.(*configv1alpha1.RotationConfiguration)
	if !ok || action.Subresource != "status" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("apifake: an apply of %s is not answered", action.Resource.Resource))
	}
	if action.PatchOptions.FieldManager == "" {
		return nil, apierrors.NewBadRequest("fieldManager is required for apply patch")
	}
	var patch configv1alpha1.RotationConfiguration
	if err := json.Unmarshal(action.Patch, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	changed := configuration.DeepCopy()
	changed.UID, changed.Status = patch.UID, patch.Status
	return changed, nil
}
