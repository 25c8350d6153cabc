// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSourceOf(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		certManager bool
		want        *Source
		why         bool
	}{
		"nothing is asked":         {nil, true, nil, false},
		"a bundle":                 {map[string]string{Annotation: "demo/bundle"}, false, &Source{Namespace: "demo", ConfigMap: "bundle"}, false},
		"no namespace":             {map[string]string{Annotation: "bundle"}, false, nil, true},
		"an empty namespace":       {map[string]string{Annotation: "/bundle"}, false, nil, true},
		"an empty name":            {map[string]string{Annotation: "demo/"}, false, nil, true},
		"three parts":              {map[string]string{Annotation: "demo/bundle/key"}, false, nil, true},
		"nothing at all":           {map[string]string{Annotation: ""}, true, nil, true},
		"cert-manager's":           {map[string]string{AnnotationCertManager: "demo/bundle"}, true, &Source{Namespace: "demo", ConfigMap: "bundle", Borrowed: true}, false},
		"cert-manager's, not ours": {map[string]string{AnnotationCertManager: "demo/bundle"}, false, nil, false},
		"cert-manager's, broken":   {map[string]string{AnnotationCertManager: "bundle"}, true, nil, false},
		"both": {map[string]string{Annotation: "demo/ours", AnnotationCertManager: "demo/theirs"}, true,
			&Source{Namespace: "demo", ConfigMap: "ours"}, false},
		"both, ours is broken": {map[string]string{Annotation: "ours", AnnotationCertManager: "demo/theirs"}, true, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := SourceOf(test.annotations, test.certManager)
			if diff := cmp.Diff(test.want, got); diff != "" || (why != "") != test.why {
				t.Errorf("why %q (-want +got):\n%s", why, diff)
			}
		})
	}
}
