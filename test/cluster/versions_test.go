// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestToolPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, kubernetes, program, want string }{
		{"the newest", "", APIServer, "kube-apiserver"},
		{"an older one", "1.34", APIServer, "kubernetes-1.34/kube-apiserver"},
		{"kubectl of an older one", "1.34", "kubectl", "kubernetes-1.34/kubectl"},
		{"what there is once", "1.34", Etcd, "etcd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := ToolPath(test.kubernetes, test.program); got != filepath.FromSlash(test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestOlderKubernetesThatIsNotBuilt(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for _, program := range []string{Etcd, APIServer, ControllerManager} {
		if err := os.WriteFile(filepath.Join(bin, program), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.Context(), Config{Dir: t.TempDir(), BinDir: bin, Kubernetes: "1.34"})
	if err == nil || !strings.Contains(err.Error(), "hack/build-tools.sh kubernetes-1.34") {
		t.Errorf("got %v, want what builds it", err)
	}
}

func TestOldestKubernetesHasAModule(t *testing.T) {
	t.Parallel()
	oldest, err := OldestKubernetes()
	if err != nil {
		t.Fatal(err)
	}
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "hack", "tools", "kubernetes-"+oldest, "go.mod"))
	if err != nil || !strings.Contains(string(text), "k8s.io/kubernetes v"+oldest+".") {
		t.Errorf("%s has no such Kubernetes: %v", oldest, err)
	}
}
