// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// cluster must run before the copies. Each has a kubeconfig of its own, so that one consent is about one cluster.
func (v *validator) cluster(c *RemoteCluster, path *field.Path) {
	v.object(kindSecret, c.KubeconfigSecretName, path.Child("kubeconfigSecretName"))
	v.clusters.Insert(c.Name)
}

// copy must run after the trust domains: only their bundles and leaves are copied, never a signer.
func (v *validator) copy(c *Copy, namespace string, path *field.Path) {
	kind := kindConfigMap
	switch c.Kind {
	case CopyConfigMap:
		v.add(knownIn(v.bundles)(c.Name, path.Child("name"))...)
	case CopySecret:
		kind = kindSecret
		v.add(knownIn(v.leaves)(c.Name, path.Child("name"))...)
	}
	if c.Cluster != "" {
		v.add(knownIn(v.clusters)(c.Cluster, path.Child("cluster"))...)
	}
	toNamespace, toName := cmp.Or(c.ToNamespace, namespace), cmp.Or(c.ToName, c.Name)
	v.add(invalid(path.Child("toNamespace"), toNamespace, validation.IsDNS1123Label(toNamespace))...)
	if errs := validateName(toName, path.Child("toName")); len(errs) > 0 {
		v.add(errs...)
		return
	}
	if c.Cluster == "" && toNamespace == namespace {
		v.add(v.claims.claim(kind, toName, path)...)
		return
	}
	if publishedBy(claimedObject{kind, toName}) != "" {
		v.add(v.copies.claim(kind, toName, path)...)
		return
	}
	object := claimedObject{kind: kind, name: toNamespace + "/" + toName}
	if c.Cluster != "" {
		object.name = c.Cluster + "/" + object.name
	}
	v.add(v.copies.once(object, path)...)
}
