// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

// rotationRequested says whether a person asked for a new certificate: by our annotation, or, as library-go's users
// do, by deleting certificate-not-after from an object that still has its companions.
func rotationRequested(o *Object) bool {
	if _, ok := o.Annotations[AnnotationRotateRequested]; ok {
		return true
	}
	_, notAfter := o.Annotations[AnnotationNotAfter]
	_, notBefore := o.Annotations[AnnotationNotBefore]
	_, issuer := o.Annotations[AnnotationIssuer]
	return !notAfter && (notBefore || issuer)
}

// requestText is the reason that was given with a request, as the end of a clause.
func requestText(o *Object) string {
	if reason := o.Annotations[AnnotationRotateRequested]; reason != "" {
		return ": " + reason
	}
	if _, ok := o.Annotations[AnnotationRotateRequested]; ok {
		return ""
	}
	return " by deleting the annotation " + AnnotationNotAfter
}

func abortRequested(o *Object) bool {
	_, ok := o.Annotations[AnnotationAbortRequested]
	return ok
}
