// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
)

// contentDomain ends the prefix of the annotations with which a pod names its start contents.
const contentDomain = ".content.certrotation.dev/"

// ContentAnnotation is the annotation of a pod, and of its template, with the hash (registry/contenthash) of a Secret
// or ConfigMap that the pod starts with.
func ContentAnnotation(kind ObjectKind, name string) string {
	return strings.ToLower(string(kind)) + contentDomain + name
}

// IsContentAnnotation reports whether an annotation names a content that a pod starts with.
func IsContentAnnotation(key string) bool { return strings.Contains(key, contentDomain) }

// NamesOther reports whether annotations name a content other than those in content or tolerated. A missing
// annotation does not count. With the superseded contents of a Restart tolerated, true means that a start gate blocks
// the pod.
func NamesOther(annotations, content map[string]string, tolerated map[string][]string) bool {
	for key, hash := range content {
		if named, ok := annotations[key]; ok && named != hash && !slices.Contains(tolerated[key], named) {
			return true
		}
	}
	return false
}

// assumption is what the required evidence takes for granted of the members, "" if nothing or if it is said
// elsewhere.
func (p *Party) assumption() string {
	if p.StartAssumed {
		return "it is assumed that a pod starts with the content which its template names: no start gate has to keep an older one from it"
	}
	return p.Reason
}
