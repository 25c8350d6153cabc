// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	guardName = "certrotation-guard"
	// libraryNotAfter is the annotation that people delete to request a rotation.
	libraryNotAfter = "auth.openshift.io/certificate-not-after"
)

// TestRemoved removes certrotation step by step, and installs it again in both forms. The sample connects all the
// time.
func TestRemoved(t *testing.T) {
	s := theSystem(t)
	traffic := s.measure(t)
	before := s.whileServeIsDown(t)
	s.afterEmergency(t, before)
	s.reinstall(t, "kubectl delete", installation.WithHelm)
	s.reinstall(t, "helm uninstall", installation.WithKubectl)
	s.rotated(t, s.rotate(t))
	traffic.end(t)
}

// whileServeIsDown checks which parts of the cluster work without the guard and with an API group that is not
// served. It ends with the emergency procedure, which unblocks the waiting namespace. It returns the active CA.
func (s *system) whileServeIsDown(t *testing.T) (before string) {
	t.Helper()
	row, err := s.row(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.scaleTo(t, 0, serve)
	if err := s.edit(t.Context(), namespace); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "guard.certrotation.dev") {
		t.Errorf("an edit where the guard is asked: %v", err)
	}
	if err := s.edit(t.Context(), metav1.NamespaceDefault); err != nil {
		t.Errorf("an edit where it is not: %v", err)
	}
	s.collectsGarbage(t)
	s.countsQuota(t)
	end := s.deleteNamespace(t, "left")
	s.policy(t, "Ignore")
	until(t, "the guard is not asked for", func(ctx context.Context) error { return s.edit(ctx, namespace) })
	s.policy(t, "Fail")

	for _, args := range emergency(t) {
		if _, err := s.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "an edit is made without the guard", func(ctx context.Context) error { return s.edit(ctx, namespace) })
	end()
	return row.Status.Certificate.Fingerprint
}

// afterEmergency requests a rotation through a Secret alone. The acknowledgement subresource is not served, so the
// rotation holds with both CAs published. It continues when certrotation is applied again.
func (s *system) afterEmergency(t *testing.T, before string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, libraryNotAfter)
	if _, err := s.Client.CoreV1().Secrets(namespace).Patch(t.Context(), signer, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "both CAs are published", func(ctx context.Context) error {
		bundle, err := s.Client.CoreV1().ConfigMaps(namespace).Get(ctx, sampleBundle, metav1.GetOptions{})
		if err != nil {
			return err
		}
		anchors, err := pki.ParseBundle([]byte(bundle.Data["ca-bundle.crt"]))
		if err == nil && len(anchors) != 2 {
			err = fmt.Errorf("there are %d anchors", len(anchors))
		}
		return err
	})
	if err := s.Stranger.InstallPods(s.within(t), installation.WithKubectl); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, before)
}

// reinstall removes certrotation with a command of docs/install.md and installs it in the other form. The objects
// in the namespace of the sample keep their resource versions.
func (s *system) reinstall(t *testing.T, remove, form string) {
	t.Helper()
	before := s.revisions(t)
	if _, err := s.Stranger.Follow(s.within(t), installation.Uninstall, remove); err != nil {
		t.Fatal(err)
	}
	_, err := s.Client.CoreV1().Namespaces().Get(t.Context(), installation.Namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("after %s the namespace %s is there: %v", remove, installation.Namespace, err)
	}
	if err := s.edit(t.Context(), namespace); err != nil {
		t.Errorf("an edit after %s: %v", remove, err)
	}
	if err := s.Stranger.InstallPods(s.within(t), form); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(s.within(t), installation.Expected{installation.Namespace: 1, namespace: 4}); err != nil {
		t.Fatal(err)
	}
	until(t, "the signer is at rest", s.isAtRest)
	for name, revision := range s.revisions(t) {
		if before[name] != revision {
			t.Errorf("%s was written: it was at %q, and is at %s", name, before[name], revision)
		}
	}
	t.Logf("after %s, installed again: %d objects are as they were", remove, len(before))
}

func (s *system) within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// scaleTo scales Deployments of certrotation, and waits until they have n pods.
func (s *system) scaleTo(t *testing.T, n int, deployments ...string) {
	t.Helper()
	for _, deployment := range deployments {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
		if _, err := s.Client.AppsV1().Deployments(installation.Namespace).Patch(t.Context(), deployment, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		selector := metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + strings.TrimPrefix(deployment, "certrotation-")}
		until(t, fmt.Sprintf("%s has %d pods", deployment, n), func(ctx context.Context) error {
			pods, err := s.Client.CoreV1().Pods(installation.Namespace).List(ctx, selector)
			if err == nil && len(pods.Items) != n {
				err = fmt.Errorf("there are %d", len(pods.Items))
			}
			return err
		})
	}
}

// edit makes a dry run of an edit: of the sample's bundle, and in other namespaces of the root CA of Kubernetes.
func (s *system) edit(ctx context.Context, in string) error {
	name := "kube-root-ca.crt"
	if in == namespace {
		name = sampleBundle
	}
	_, err := s.Client.CoreV1().ConfigMaps(in).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/edit":"1"}}}`),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func (s *system) policy(t *testing.T, failurePolicy string) {
	t.Helper()
	patch := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":%q}]`, failurePolicy)
	if _, err := s.Kubectl(t.Context(), "patch", "validatingwebhookconfiguration", guardName, "--type=json", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

func emergency(t *testing.T) [][]string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(read(t, filepath.Join(root, "docs", "operations.md"))), "\n## Emergency\n")
	var commands [][]string
	for i, quoted := range strings.Split(after, "`") {
		if command, is := strings.CutPrefix(quoted, "kubectl delete "); is && i%2 == 1 {
			commands = append(commands, append([]string{"delete"}, strings.Fields(command)...))
		}
	}
	if len(commands) != 2 {
		t.Fatalf("docs/operations.md has the commands %q for an emergency", commands)
	}
	return commands
}

// revisions returns the resource versions of what certrotation maintains in the namespace of the sample.
func (s *system) revisions(t *testing.T) map[string]string {
	t.Helper()
	revisions := map[string]string{}
	secrets, err := s.Client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range secrets.Items {
		revisions["Secret/"+secrets.Items[i].Name] = secrets.Items[i].ResourceVersion
	}
	bundle, err := s.Client.CoreV1().ConfigMaps(namespace).Get(t.Context(), sampleBundle, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	revisions["ConfigMap/"+sampleBundle] = bundle.ResourceVersion
	return revisions
}
