// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

func TestCompletion(t *testing.T) {
	const all, signers, nothing = "service-server service-signer", "service-signer", ""
	for _, tt := range []struct{ name, line, want string }{
		{"a signer or a leaf to rotate", "rotate", all},
		{"to plan", "plan", all},
		{"to wait for", "wait", all},
		{"to show", "tree", all},
		{"a signer to abort", "abort", signers},
		{"to waive for", "waive", signers},
		{"to acknowledge to", "acknowledge", signers},
		{"one name is enough", "rotate service-signer", nothing},
		{"another namespace", "rotate -n other", nothing},
		{"a configuration to adopt", "adopt", "web"},
		{"to release", "release", "web"},
		{"to operate", "operate", "web"},
		{"a namespace", "rotate -n", "demo other"},
		{"a party", "waive service-signer --party", "clients server"},
		{"a member", "waive service-signer --member", "client-a client-b server"},
		{"a member of a party", "acknowledge service-signer --party clients --member", "client-a client-b"},
		{"a member of an unknown signer", "waive none --member", nothing},
		{"a member before its signer", "waive --member", nothing},
		{"a shell", "completion", "bash fish powershell zsh"},
		{"nothing for a version", "version", nothing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, signer(), leaf("service-server", oldCA),
				&configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			if got := completed(s.ok(t, append(append([]string{"__complete"}, strings.Fields(tt.line)...), "")...)); got != tt.want {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
		})
	}
}

// completed returns the words that a shell is offered, without descriptions, required flags and cobra's directive.
func completed(out string) string {
	var words []string
	for line := range strings.Lines(out) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(word, ":") && !strings.HasPrefix(word, "--") {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// TestCompletionOfNothing: a cluster that refuses costs no error message in the middle of a command line.
func TestCompletionOfNothing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := remote(t)
	if got := completed(s.ok(t, "__complete", "--server", server.URL, "rotate", "")); got != "" {
		t.Errorf("offered %q", got)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, sh := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := newShell(t).ok(t, "completion", sh); !strings.Contains(got, "kubectl-certrotation") {
			t.Errorf("%s completes no kubectl-certrotation:\n%s", sh, got)
		}
	}
}

// TestCompletionByKubectl runs the program by which kubectl completes plugins, with a kubectl that prints its arguments.
func TestCompletionByKubectl(t *testing.T) {
	bin := t.TempDir()
	kubectl := "#!/bin/sh\nfor word; do echo \"<$word>\"; done\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := exec.CommandContext(t.Context(), filepath.Join("..", "kubectl_complete-certrotation"), "rotate", "a b", "").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "<certrotation>\n<__complete>\n<rotate>\n<a b>\n<>\n"; string(out) != want {
		t.Errorf("kubectl is run with\n%s, want\n%s", out, want)
	}
}
