// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

var update = flag.Bool("update", false, "write the golden responses")

// TestGolden sends testdata/NAME.request.json and compares the answer with testdata/NAME.response.json. A request
// is a template, because the test makes the certificates: {{.name}} is the JSON of a fixture object. The part of
// NAME before the first dash is the state of the namespace.
func TestGolden(t *testing.T) {
	stable := newWorld(t)
	distributing := stable.clone().distribute()
	worlds := map[string]*world{"stable": stable, "distributing": distributing}
	objects := goldenObjects(t, stable, distributing)

	requests, err := filepath.Glob("testdata/*.request.json")
	if err != nil || len(requests) == 0 {
		t.Fatalf("no golden requests: %v", err)
	}
	for _, path := range requests {
		name := strings.TrimSuffix(filepath.Base(path), ".request.json")
		t.Run(name, func(t *testing.T) {
			state, _, _ := strings.Cut(name, "-")
			w := worlds[state]
			if w == nil {
				t.Fatalf("there is no state %q", state)
			}
			tmpl, err := template.New(filepath.Base(path)).Option("missingkey=error").ParseFiles(path)
			if err != nil {
				t.Fatal(err)
			}
			var body bytes.Buffer
			if err := tmpl.Execute(&body, objects); err != nil {
				t.Fatal(err)
			}
			recorder := post(newHandler(t, viewOf(w), namespaceOf(false)), &body)
			if recorder.Code != http.StatusOK {
				t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, recorder.Body.Bytes(), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteString("\n")
			golden := strings.TrimSuffix(path, ".request.json") + ".response.json"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got), -update writes it:\n%s", golden, diff)
			}
		})
	}
}

func goldenObjects(t *testing.T, stable, distributing *world) map[string]string {
	t.Helper()
	server := stable.secrets["service-server"]
	config := stable.config
	objects := map[string]string{}
	for name, object := range map[string]versioned{
		"server":              server,
		"foreignServer":       stable.leaf("service-server", stable.foreign),
		"nextServer":          stable.leaf("service-server", distributing.next),
		"mismatchedServer":    edited(server, func(s *corev1.Secret) { s.Data[corev1.TLSPrivateKeyKey] = stable.key(stable.foreign) }),
		"unannotatedServer":   edited(server, func(s *corev1.Secret) { delete(s.Annotations, trust.AnnotationNotAfter) }),
		"signerWithNext":      distributing.secrets["service-signer"],
		"bundle":              stable.configMaps["service-ca-bundle"],
		"emptyBundle":         editedConfigMap(stable.configMaps["service-ca-bundle"], bundleOf()),
		"bundleWithNext":      distributing.configMaps["service-ca-bundle"],
		"bundleWithNextAlone": editedConfigMap(distributing.configMaps["service-ca-bundle"], bundleOf(distributing.next)),
		"configuration":       config,
		"brokenConfiguration": editedConfiguration(config, func(s *configv1alpha1.RotationConfigurationSpec) { s.Preset.MTLSService.Clients = []string{"A"} }),
	} {
		objects[name] = string(encode(t, stored(t, object)))
	}
	return objects
}
