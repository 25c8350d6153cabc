// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// StartRequirement is the evidence that a relying party requires of its pods.
type StartRequirement struct {
	// Bundle is the ConfigMap with the anchors that the pods load, "" if they verify nothing.
	Bundle string
	// Leaves are the Secrets of the leaves that the pods present.
	Leaves []string
	// Assumed accepts pods without a start gate.
	Assumed bool
}

// Content is the current state of a Secret or ConfigMap.
type Content struct {
	// Hash of the content, "" if the object does not exist or must not be used. Superseded lists the hashes that the
	// object declares as replaced.
	Hash       string
	Superseded []string
	// Shows are the fingerprints of its anchors, or of its leaf. Beside are those of the anchors in the Secret of a
	// leaf.
	Shows, Beside []pki.Fingerprint
	// Keystore is a key that certrotation does not write, "" if there is none: the hash does not show what a program has
	// loaded that reads it.
	Keystore string
}

// Contents are the objects that an Asked names.
type Contents struct {
	Bundle Content
	// Leaves in the order of Asked.Leaves.
	Leaves []Content
}

// StartProof is what is known of a pod's processes.
type StartProof struct {
	Trusts, Presents []pki.Fingerprint
	// Failure says why nothing is known, and what to do.
	Failure string
}

// Fault says why the pod, as it is written, cannot prove anything, "" if it can.
func (a *StartRequirement) Fault(pod *corev1.Pod) string {
	if a.Bundle != "" {
		if text := a.fault(pod, trust.ConfigMapKind, a.Bundle); text != "" {
			return text
		}
	}
	for _, leaf := range a.Leaves {
		if text := a.fault(pod, trust.SecretKind, leaf); text != "" {
			return text
		}
	}
	return ""
}

func (a *StartRequirement) fault(pod *corev1.Pod, kind trust.ObjectKind, name string) string {
	key := trust.ContentAnnotation(kind, name)
	hash, named := pod.Annotations[key]
	switch {
	case !named:
		return fmt.Sprintf("it does not say which content of %s/%s it starts with: give the template of its workload the annotation %s "+
			"with what `kubectl certrotation content-hash %s/%s` prints", kind, name, key, strings.ToLower(string(kind)), name)
	case !contenthash.Valid(hash):
		return fmt.Sprintf("its annotation %s is %.80q, which is no hash of a content", key, hash)
	case a.Assumed:
		return ""
	}
	return ungated(pod, kind, name, hash)
}

// Known reports whether an earlier observation of the process already covers everything. The current contents cannot
// add to that.
func (a *StartRequirement) Known(before *trust.Observation) bool {
	return before != nil && (a.Bundle == "" || len(before.Trusts) > 0) && len(before.Presents) >= len(a.Leaves)
}

// Prove derives what the processes of a pod without a Fault have loaded. It uses the current contents, which must be
// read after the pod. before is what was observed of the same processes earlier, nil if nothing was.
func (a *StartRequirement) Prove(pod *corev1.Pod, now *Contents, before *trust.Observation) StartProof {
	before = cmp.Or(before, &trust.Observation{})
	out := StartProof{Trusts: before.Trusts, Presents: before.Presents}
	unknown := ""
	if a.Bundle != "" && len(before.Trusts) == 0 {
		out.Trusts, unknown = a.trusts(pod, now)
	}
	for i, leaf := range a.Leaves {
		if len(before.Presents) >= len(a.Leaves) {
			break
		}
		shows, why := now.Leaves[i].presents(pod, leaf)
		out.Presents, unknown = union(out.Presents, shows), cmp.Or(unknown, why)
	}
	// Report why nothing is known only if no part is: a step that waits for the rest reports that itself.
	if len(out.Trusts)+len(out.Presents) == 0 {
		out.Failure = unknown
	}
	return out
}

// trusts returns the anchors of the bundle that the Secrets of the leaves have too, if they have any: the program may
// verify by either.
func (a *StartRequirement) trusts(pod *corev1.Pod, now *Contents) (shows []pki.Fingerprint, unknown string) {
	shows, unknown = now.Bundle.of(pod, trust.ConfigMapKind, a.Bundle)
	for i, leaf := range a.Leaves {
		beside := now.Leaves[i].Beside
		if len(shows) == 0 || len(beside) == 0 {
			continue
		}
		if _, why := now.Leaves[i].of(pod, trust.SecretKind, leaf); why != "" {
			return nil, why
		}
		shows = slices.DeleteFunc(slices.Clone(shows), func(f pki.Fingerprint) bool { return !slices.Contains(beside, f) })
	}
	return shows, unknown
}

// presents returns the leaf of a pod that names this content, or one that it superseded: both have the same
// certificate.
func (c *Content) presents(pod *corev1.Pod, leaf string) (shows []pki.Fingerprint, unknown string) {
	if c.Hash != "" && c.Keystore == "" && slices.Contains(c.Superseded, pod.Annotations[trust.ContentAnnotation(trust.SecretKind, leaf)]) {
		return c.Shows, ""
	}
	return c.of(pod, trust.SecretKind, leaf)
}

// of returns what a pod that names this content has loaded, or why that is unknown.
func (c *Content) of(pod *corev1.Pod, kind trust.ObjectKind, name string) (shows []pki.Fingerprint, unknown string) {
	key := trust.ContentAnnotation(kind, name)
	if c.Keystore != "" {
		return nil, fmt.Sprintf("%s/%s has the keystore %s, which certrotation does not write, so a hash does not show what its program has loaded: "+
			"have certrotation write it (keystores, additionalFormats), remove the key if no program reads it, or choose evidence that sees the process", kind, name, c.Keystore)
	}
	if c.Hash != "" && pod.Annotations[key] == c.Hash {
		return c.Shows, ""
	}
	return nil, fmt.Sprintf("its annotation %s names a content that %s/%s does not have now, and these processes were not seen while it had: "+
		"what they have loaded is not known until the template of its workload names the present content and the pod is replaced", key, kind, name)
}

func union(x, y []pki.Fingerprint) []pki.Fingerprint {
	out := slices.Concat(x, y)
	slices.Sort(out)
	return slices.Compact(out)
}
