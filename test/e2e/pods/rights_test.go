// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/test/cluster/installation"
)

var update = flag.Bool("update", false, "write the rights into testdata")

// TestRightsOfTheInstalled compares the rights of each account, as `kubectl auth can-i --list` shows them. It asks
// for the account's own namespace, a managed one, and an unmanaged one.
func TestRightsOfTheInstalled(t *testing.T) {
	s := theSystem(t)
	for _, account := range []string{serve, controller} {
		t.Run(account, func(t *testing.T) {
			var out strings.Builder
			for _, in := range []string{installation.Namespace, namespace, metav1.NamespaceDefault} {
				fmt.Fprintf(&out, "in %s:\n%s", in, s.rights(t, account, in))
			}
			golden := filepath.Join("testdata", "rights-"+account+".txt")
			if *update {
				write(t, golden, []byte(out.String()), 0o644)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("the rights have changed; if that was agreed upon, run this test with -update (-want +got):\n%s", diff)
			}
		})
	}
}

// rights returns the sorted rights of an account in a namespace and in the whole cluster.
func (s *system) rights(t *testing.T, account, in string) string {
	t.Helper()
	config := rest.CopyConfig(s.Installation.Cluster.AdminConfig())
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + installation.Namespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + installation.Namespace, "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: in},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete {
		t.Fatalf("ask for the rights of %s: %v, %s", account, err, review.Status.EvaluationError)
	}
	var lines []string
	for _, r := range review.Status.ResourceRules {
		lines = append(lines, fmt.Sprintf("  %s %s%s: %s", orCore(r.APIGroups), join(r.Resources), named(r.ResourceNames), join(r.Verbs)))
	}
	for _, r := range review.Status.NonResourceRules {
		lines = append(lines, fmt.Sprintf("  %s: %s", join(r.NonResourceURLs), join(r.Verbs)))
	}
	slices.SortFunc(lines, cmp.Compare[string])
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

func join(words []string) string {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	return strings.Join(sorted, ",")
}

func orCore(groups []string) string {
	if len(groups) == 1 && groups[0] == "" {
		return "core"
	}
	return join(groups)
}

func named(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "[" + join(names) + "]"
}
