// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

type objectKind string

const (
	kindSecret    objectKind = "Secret"
	kindConfigMap objectKind = "ConfigMap"
)

type claimedObject struct {
	kind objectKind
	name string
}

// claims are the objects that a configuration owns, each with the field that claims it. The names of leaves for
// each node are claimed with their placeholder. Two of them may be equal for some node: that is checked where the
// nodes are known.
type claims map[claimedObject]string

func (c claims) claim(kind objectKind, name string, path *field.Path) field.ErrorList {
	object := claimedObject{kind: kind, name: name}
	if owner := publishedBy(object); owner != "" {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("the %s %s belongs to %s", kind, name, owner))}
	}
	return c.once(object, path)
}

// once claims an object, and refuses it if it is already claimed.
func (c claims) once(object claimedObject, path *field.Path) field.ErrorList {
	if first, ok := c[object]; ok {
		return field.ErrorList{field.Invalid(path, object.name, fmt.Sprintf("this %s is already claimed by %s", object.kind, first))}
	}
	c[object] = path.String()
	return nil
}

// publishedBy names the component that publishes an object in every namespace, and would overwrite it.
func publishedBy(object claimedObject) string {
	switch object {
	case claimedObject{kindConfigMap, "kube-root-ca.crt"}:
		return "kube-controller-manager"
	case claimedObject{kindConfigMap, "openshift-service-ca.crt"}:
		return "OpenShift's service-ca-operator"
	default:
		return ""
	}
}
