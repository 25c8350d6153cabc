// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import "strings"

// Annotations of a target that name a bundle as NAMESPACE/CONFIGMAP.
const (
	Annotation = "certrotation.dev/inject-ca-from"
	// AnnotationCertManager is cert-manager's, where it names a Certificate. Here it names the ConfigMap of a bundle
	// too. If it names no bundle of ours, it is cert-manager's business.
	AnnotationCertManager = "cert-manager.io/inject-ca-from"
)

// Source is the bundle that a target asks for.
type Source struct {
	Namespace, ConfigMap string
	// Borrowed means that cert-manager's annotation names it.
	Borrowed bool
}

// SourceOf returns the bundle that the annotations of a target ask for, nil if they ask for none; why is set if they
// cannot be read. Our own annotation has precedence. cert-manager's counts only if certManager is true.
func SourceOf(annotations map[string]string, certManager bool) (_ *Source, why string) {
	text, ours := annotations[Annotation]
	if !ours {
		var theirs bool
		if text, theirs = annotations[AnnotationCertManager]; !theirs || !certManager {
			return nil, ""
		}
	}
	namespace, name, ok := strings.Cut(text, "/")
	switch {
	case ok && namespace != "" && name != "" && !strings.Contains(name, "/"):
		return &Source{Namespace: namespace, ConfigMap: name, Borrowed: !ours}, ""
	case !ours:
		return nil, ""
	}
	return nil, "the annotation " + Annotation + " is not of the form NAMESPACE/CONFIGMAP"
}
