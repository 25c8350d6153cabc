// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
)

// contentDomain ends the prefix of the annotations with which a pod names the contents that it starts with.
const contentDomain = ".content.certrotation.dev/"

// ContentAnnotation is the annotation of a pod, and of the template that makes it, with the hash (registry/contenthash) of the
// Secret or ConfigMap that the pod starts with.
func ContentAnnotation(kind ObjectKind, name string) string {
	return strings.ToLower(string(kind)) + contentDomain + name
}

// IsContentAnnotation says whether an annotation names a content that a pod starts with.
func IsContentAnnotation(key string) bool { return strings.Contains(key, contentDomain) }

// NamesOther says whether annotations name another content than content does, or than those that are tolerated. That they do
// not name one says nothing. With the superseded contents of a Restart tolerated, it says that a start gate lets no pod past.
func NamesOther(annotations, content map[string]string, tolerated map[string][]string) bool {
	for key, hash := range content {
		if named, ok := annotations[key]; ok && named != hash && !slices.Contains(tolerated[key], named) {
			return true
		}
	}
	return false
}

// assumption is what is taken for granted of the members by the evidence that is asked for, "" if nothing or if others say it.
func (p *Party) assumption() string {
	if p.StartAssumed {
		return "it is assumed that a pod starts with the content which its template names: no start gate has to keep an older one from it"
	}
	return p.Reason
}
