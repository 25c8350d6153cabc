// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "strings"

// contentDomain ends the prefix of the annotations with which a pod names the contents that it starts with.
const contentDomain = ".content.certrotation.dev/"

// ContentAnnotation is the annotation of a pod, and of the template that makes it, with the hash (registry/contenthash) of the
// Secret or ConfigMap that the pod starts with.
func ContentAnnotation(kind ObjectKind, name string) string {
	return strings.ToLower(string(kind)) + contentDomain + name
}

// IsContentAnnotation says whether an annotation names a content that a pod starts with.
func IsContentAnnotation(key string) bool { return strings.Contains(key, contentDomain) }

// assumption is what is taken for granted of the members by the evidence that is asked for, "" if nothing or if others say it.
func (p *Party) assumption() string {
	if p.StartAssumed {
		return "it is assumed that a pod starts with the content which its template names: no start gate has to keep an older one from it"
	}
	return p.Reason
}
