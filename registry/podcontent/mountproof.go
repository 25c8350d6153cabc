// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// MountRequirement is what a relying party's pods are asked to prove.
type MountRequirement struct {
	trust.Mounts
	// Configuration that the objects must consent to.
	Configuration string
}

type volume struct {
	name, key string
	leaf      bool
}

// volumes returns the volumes to read: that with the anchors first, then those with leaves.
func (a *MountRequirement) volumes() []volume {
	var out []volume
	if a.Trust != "" {
		out = append(out, volume{name: a.Trust, key: a.TrustKey})
	}
	for _, name := range a.Leaves {
		out = append(out, volume{name: name, key: corev1.TLSCertKey, leaf: true})
	}
	return out
}

// Object is the needed part of a Secret or ConfigMap as it is now.
type Object struct {
	namespace   string
	created     time.Time
	annotations map[string]string
	immutable   bool
	// byContent means that its name ends in a hash of its content.
	byContent bool
	// value of the key to read; has means that the key exists.
	value []byte
	has   bool
}

// OfConfigMap keeps the needed part of a ConfigMap, with one key of its content.
func OfConfigMap(cm *corev1.ConfigMap, key string) *Object {
	named := namedConfigMap(cm)
	return objectOf(&cm.ObjectMeta, cm.Immutable, named, key)
}

// OfSecret keeps the needed part of a Secret, with one key of its content. The result does not refer to the Secret.
func OfSecret(secret *corev1.Secret, key string) *Object {
	named := namedSecret(secret)
	return objectOf(&secret.ObjectMeta, secret.Immutable, named, key)
}

func objectOf(meta *metav1.ObjectMeta, immutable *bool, n *named, key string) *Object {
	value, has := n.values[key]
	return &Object{
		namespace: meta.Namespace, created: meta.CreationTimestamp.Time, annotations: meta.Annotations,
		immutable: immutable != nil && *immutable, byContent: n.byContent(), value: bytes.Clone(value), has: has,
	}
}

// MountProof is what is known of a pod.
type MountProof struct {
	Trusts, Presents []pki.Fingerprint
	// Failure says why nothing is known, and what to do.
	Failure string
}

// Prove returns what a pod with these References has loaded, by the objects as they are now.
func (a *MountRequirement) Prove(pod *corev1.Pod, references []Reference) MountProof {
	out := MountProof{}
	for i := range references {
		r := &references[i]
		if fault := a.fault(pod, r); fault != "" {
			return MountProof{Failure: fault}
		}
		shows, fault := r.read()
		switch {
		case fault != "":
			return MountProof{Failure: fault}
		case r.Leaf:
			out.Presents = append(out.Presents, shows...)
		default:
			out.Trusts = shows
		}
	}
	slices.Sort(out.Presents)
	out.Presents = slices.Compact(out.Presents)
	return out
}

// fault returns why an object proves nothing about a pod that mounts it, "" if it does.
func (a *MountRequirement) fault(pod *corev1.Pod, r *Reference) string {
	const replace = "replace the pod by one that mounts what there is"
	switch o := r.Object; {
	case o == nil:
		return fmt.Sprintf("it mounts %s, which does not exist, and was not looked at while that did: %s", r.object(), replace)
	case !trust.Consents(o.annotations, a.Configuration):
		return fmt.Sprintf("it mounts %s, which does not consent to RotationConfiguration/%s: kubectl annotate -n %s %s %s %s=%s",
			r.object(), a.Configuration, o.namespace, strings.ToLower(string(r.Kind)), r.Name, trust.AnnotationConfiguration, a.Configuration)
	case !o.immutable:
		return fmt.Sprintf("it mounts %s, which is not immutable, so its program may have read something else than is there now: have it made with immutable: true", r.object())
	case !o.byContent:
		return fmt.Sprintf("it mounts %[1]s, whose name does not end in a hash of its content, so another content may have had this name: have it named by kustomize, "+
			"as Gardener does, or as NAME-HASH with the first %[2]d digits or more that `kubectl certrotation content-hash %[3]s` prints",
			r.object(), leastHash, strings.ToLower(string(r.Kind))+"/"+r.Name)
	case o.created.After(pod.CreationTimestamp.Time):
		return fmt.Sprintf("it mounts %s, which was made after the pod, so the pod began with another one of that name, or without: %s", r.object(), replace)
	case !o.has:
		return fmt.Sprintf("it mounts %s, which has no key %s: name the key that has the anchors in trustKey of the party, and a leaf is under %s", r.object(), r.Key, corev1.TLSCertKey)
	}
	return ""
}

// read returns the anchors or the leaf under the key. The fault does not quote the content, because another client
// wrote it.
func (r *Reference) read() (shows []pki.Fingerprint, fault string) {
	if r.Leaf {
		chain, err := pki.ParseChain(r.Object.value)
		if err != nil {
			return nil, fmt.Sprintf("it mounts %s, whose key %s has no certificate that can be read: have it made of the Secret of the leaf", r.object(), r.Key)
		}
		return []pki.Fingerprint{chain[0].Fingerprint}, ""
	}
	anchors, err := pki.ParseAnchors(r.Object.value)
	if err != nil {
		return nil, fmt.Sprintf("it mounts %s, whose key %s has no anchors that can be read: have it made of the bundle, as PEM", r.object(), r.Key)
	}
	for _, anchor := range anchors.Certificates {
		shows = append(shows, anchor.Fingerprint)
	}
	return shows, ""
}
