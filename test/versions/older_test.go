// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"testing"

	"certrotation.dev/test/cluster/installation"
)

// TestOlderKubernetes covers what a user needs on an older Kubernetes.
func TestOlderKubernetes(t *testing.T) {
	s := start(t)
	t.Run("it is that version", s.testVersion)
	t.Run("the guard refuses what is unsafe", s.testGuard)
	t.Run("what is safe is written", s.testSafeEdit)
	t.Run("a rotation, listed and watched", s.testRotation)
	t.Run("a kind that is not served", s.testNotServed)
}

func (s *system) testVersion(t *testing.T) {
	server, err := s.kube.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got := server.Major + "." + server.Minor; got != s.version {
		t.Errorf("kube-apiserver is %s, want %s", server.GitVersion, s.version)
	}
	said := s.kubectl(t, "version", "--client")
	if !strings.Contains(said, "v"+s.version+".") {
		t.Errorf("kubectl is %s, want %s", said, s.version)
	}
	t.Logf("kube-apiserver %s; %s", server.GitVersion, said)
}

func (s *system) testGuard(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a bundle without anchors": {
			args: []string{"patch", "configmap", bundle, "--type=merge", "-p", `{"data":{"ca-bundle.crt":""}}`}, want: "NeverEmpty",
		},
		"a certificate without its key": {
			args: []string{"patch", "secret", "service-server", "--type=merge", "-p", `{"data":{"tls.key":""}}`}, want: "PairMatches",
		},
		"a broken configuration": {
			args: []string{"patch", "rotationconfiguration", "service", "--type=merge", "-p", `{"spec":{"preset":{"mtlsService":{"serverName":"no name"}}}}`},
			want: "spec.preset.mtlsService.serverName",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Kubectl(within(t), append(test.args, "-n", installation.MTLSNamespace)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("kubectl %s: %v, want %s", strings.Join(test.args, " "), err, test.want)
			}
		})
	}
}

func (s *system) testSafeEdit(t *testing.T) {
	s.kubectl(t, "annotate", "secret", "service-server", "-n", installation.MTLSNamespace, "example.com/note=hello")
}
