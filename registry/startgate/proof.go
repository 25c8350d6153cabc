// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package startgate

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

// Asked is what is asked of the pods of a relying party.
type Asked struct {
	// Bundle is the ConfigMap of the anchors that they load, "" if they verify nothing.
	Bundle string
	// Leaves are the Secrets of the leaves that they present.
	Leaves []string
	// Assumed says that a pod without a start gate counts too.
	Assumed bool
}

// Content is a Secret or ConfigMap as it is now.
type Content struct {
	// Hash of it, "" if it does not exist or may not be used, and Superseded are those that it says it has replaced.
	Hash       string
	Superseded []string
	// Shows are the fingerprints of its anchors, or of its leaf, and Beside those of the anchors that the Secret of a leaf has besides.
	Shows, Beside []pki.Fingerprint
}

// Contents are those that are asked for.
type Contents struct {
	Bundle Content
	// Leaves in the order of Asked.
	Leaves []Content
}

// Proof is what is known of the processes of a pod.
type Proof struct {
	Trusts, Presents []pki.Fingerprint
	// Failure says why nothing is known, and what to do.
	Failure string
}

// Fault says why a pod proves nothing as it is written, "" if it can prove something.
func (a *Asked) Fault(pod *corev1.Pod) string {
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

func (a *Asked) fault(pod *corev1.Pod, kind trust.ObjectKind, name string) string {
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

// Known says whether all that is asked for was seen of a process before: then nothing that is now could tell more.
func (a *Asked) Known(before *trust.Observation) bool {
	return before != nil && (a.Bundle == "" || len(before.Trusts) > 0) && len(before.Presents) >= len(a.Leaves)
}

// Prove says what the processes of a pod without a Fault have loaded, by what is now, which was read after the pod, and by what
// was seen of the same processes before, nil if nothing was.
func (a *Asked) Prove(pod *corev1.Pod, now *Contents, before *trust.Observation) Proof {
	before = cmp.Or(before, &trust.Observation{})
	out := Proof{Trusts: before.Trusts, Presents: before.Presents}
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
	// What is known of a part is worth more than the reason why the rest is not: whoever waits for that says so.
	if len(out.Trusts)+len(out.Presents) == 0 {
		out.Failure = unknown
	}
	return out
}

// trusts are the anchors of the bundle, as far as the Secrets of the leaves have them too: the program may verify by either.
func (a *Asked) trusts(pod *corev1.Pod, now *Contents) (shows []pki.Fingerprint, unknown string) {
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

// presents is the leaf of a pod that names this content, or one that this has replaced: they have the same certificate.
func (c *Content) presents(pod *corev1.Pod, leaf string) (shows []pki.Fingerprint, unknown string) {
	if c.Hash != "" && slices.Contains(c.Superseded, pod.Annotations[trust.ContentAnnotation(trust.SecretKind, leaf)]) {
		return c.Shows, ""
	}
	return c.of(pod, trust.SecretKind, leaf)
}

// of is what a pod has loaded that names this content, or why that is not known.
func (c *Content) of(pod *corev1.Pod, kind trust.ObjectKind, name string) (shows []pki.Fingerprint, unknown string) {
	key := trust.ContentAnnotation(kind, name)
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
