// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports: a controller that imports the library gets neither the API server nor tests with it.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for name := range strings.FieldsSeq(string(out)) {
		if of, is := strings.CutPrefix(name, "certrotation.dev/"); is {
			own = append(own, of)
		}
		for _, heavy := range []string{
			"k8s.io/apiserver/", "k8s.io/apiextensions-apiserver/", "github.com/google/cel-go/", "google.golang.org/grpc",
			"pgregory.net/rapid", "github.com/google/go-cmp", "testing", "certrotation.dev/test",
		} {
			if strings.HasPrefix(name, heavy) {
				t.Errorf("it imports %s", name)
			}
		}
	}
	slices.Sort(own)
	want := []string{
		"apis/certrotation", "apis/certrotation/v1alpha1", "apis/config/v1alpha1", "controller/secrets", "controller/secrets/kinds",
		"generated/applyconfiguration/config/v1alpha1", "generated/clientset/versioned/scheme", "generated/clientset/versioned/typed/config/v1alpha1",
		"registry/contenthash", "registry/edition", "registry/pki", "registry/podcontent", "registry/trust", "registry/truststore",
	}
	if !slices.Equal(own, want) {
		t.Errorf("it imports %q, want %q", own, want)
	}
}
