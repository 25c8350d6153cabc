// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"
)

// TestRefusedBySchema applies configurations that the API server refuses without the guard.
func TestRefusedBySchema(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "schema"
	s.namespace(t, namespace, nil)
	for _, tc := range []struct {
		name, from, to string
		// want are parts of the output of kubectl.
		want []string
	}{
		{
			name: "unknown field", from: "signer: {secretName: service-signer}", to: "signer: {secretName: service-signer, secret: x}",
			want: []string{`unknown field "spec.trustDomains[0].signer.secret"`},
		},
		{
			name: "no relying party", from: from(t, readers, "    relyingParties:"), to: "",
			want: []string{"spec.trustDomains[0]", "a trust domain needs a relying party: without one nothing could be proven"},
		},
		{
			name: "unknown evidence", from: "kind: acknowledgement", to: "kind: hope",
			want: []string{"evidence.kind", `Unsupported value: "hope"`},
		},
		{
			name: "none without a reason", from: "kind: acknowledgement", to: "kind: none",
			want: []string{"relyingParties[0].evidence", "needs a reason"},
		},
		{
			name: "lease of another kind", from: "{kind: none,", to: "{kind: none, lease: 1h,",
			want: []string{"lease is a parameter of the kind acknowledgement"},
		},
		{
			name: "lease of a year", from: "{kind: acknowledgement}", to: "{kind: acknowledgement, lease: 8760h}",
			want: []string{"must be a duration between 1m and 720h"},
		},
		{
			name: "the same leaf twice", from: "service-mirror, usages", to: "service-server, usages",
			want: []string{"spec.trustDomains[0].leaves[1]", "Duplicate value"},
		},
		{
			name: "neither domains nor a preset", from: from(t, readers, "spec:"), to: "spec: {}\n",
			want: []string{"give a trust domain or a preset"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(readers, tc.from, tc.to, 1)
			if text == readers {
				t.Fatalf("%q is not in the configuration", tc.from)
			}
			out, err := s.run(t, text, s.Cluster.Kubeconfig(), s.Cluster.Tool("kubectl"), "apply", "-n", namespace, "-f", "-")
			if err == nil {
				t.Fatalf("it was accepted:\n%s", out)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the refusal lacks %q:\n%s", want, out)
				}
			}
			if strings.Contains(out, "admission webhook") {
				t.Errorf("it was refused by the webhook, not by the schema:\n%s", out)
			}
		})
	}
	out, err := s.run(t, readers, s.Cluster.Kubeconfig(), s.Cluster.Tool("kubectl"), "apply", "-n", namespace, "-f", "-")
	if err != nil {
		t.Fatalf("what they are made of is refused: %v\n%s", err, out)
	}
	s.waitHealthy(t, namespace, objectsOfReaders)
	s.configurationShows(t, namespace, "service", "True", "True")
}

// configurationShows waits until `kubectl get rotationconfigurations` shows whether a configuration is accepted
// and ready, and what is wrong with it.
func (s *system) configurationShows(t *testing.T, namespace, name, accepted, ready string, contains ...string) {
	t.Helper()
	eventually(t, "kubectl get rotationconfigurations shows "+namespace+"/"+name, func(context.Context) (bool, string) {
		out := s.must(t, "get", "rotationconfigurations", "-n", namespace, name)
		header, row, _ := strings.Cut(out, "\n")
		fields := strings.Fields(row)
		if !strings.HasPrefix(strings.Join(strings.Fields(header), " "), "NAME ACCEPTED READY REASON MESSAGE AGE") || len(fields) < 3 {
			return false, out
		}
		for _, text := range contains {
			if !strings.Contains(row, text) {
				return false, out
			}
		}
		return fields[0] == name && fields[1] == accepted && fields[2] == ready, out
	})
}

// from returns a text from the first occurrence of a part to its end.
func from(t *testing.T, text, part string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, part)
	if !found {
		t.Fatalf("no %q in %q", part, text)
	}
	return part + rest
}
