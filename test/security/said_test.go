// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	listAll      = metav1.ListOptions{}
	updateDryRun = metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
)

// canaries are texts that identify a key: lines of its PEM, and the middle of its DER in hex and in base64, at each
// of the three alignments.
func canaries(keyPEM []byte) []string {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil
	}
	secret := block.Bytes[len(block.Bytes)/2:]
	out := []string{hex.EncodeToString(secret[:16])}
	for i := range 3 {
		text := base64.RawStdEncoding.EncodeToString(secret[i:])
		out = append(out, text[4:28])
	}
	for line := range strings.Lines(string(keyPEM)) {
		if line = strings.TrimSpace(line); len(line) >= 32 && !strings.HasPrefix(line, "-----") {
			out = append(out, line[:32])
		}
	}
	return out
}

// sinceStart returns what the running process has logged. Earlier processes had other borders.
func sinceStart(t *testing.T, file string) string {
	t.Helper()
	text := read(t, file)
	begin := strings.LastIndex(text, " starting /")
	if begin < 0 {
		t.Fatalf("%s does not say when its process started", file)
	}
	return text[begin:]
}

// said returns the output of certrotation, by where it was found.
func (w *world) said(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := w.logs(t)
	out["a denial"], out["a metric"] = w.forge(t, namespace), w.metrics(t, namespace)
	client := w.admin.CoreV1().RESTClient()
	for what, path := range map[string]string{
		"an event":               "/apis/events.k8s.io/v1/events",
		"a certificaterotation":  "/apis/certrotation.dev/v1alpha1/certificaterotations",
		"a bundlestatus":         "/apis/certrotation.dev/v1alpha1/bundlestatuses",
		"a record":               "/apis/config.certrotation.dev/v1alpha1/rotationrecords",
		"a configuration status": "/apis/config.certrotation.dev/v1alpha1/rotationconfigurations",
	} {
		text, err := client.Get().AbsPath(path).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		out[what] = string(text)
	}
	return out
}

// metrics returns the metrics of both processes, as a Prometheus with the right to read them gets them.
func (w *world) metrics(t *testing.T, namespace string) string {
	t.Helper()
	scraper := w.tenant(t, namespace, "scraper")
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper-of-" + namespace},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}},
	}
	if _, err := w.admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: scraper.name}},
	}
	if _, err := w.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client := ofAnyServer()
	var all strings.Builder
	for _, url := range slices.Concat(w.serve(t), w.controller(t)) {
		eventually(t, url+" shows its metrics", func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
			if err != nil {
				return err
			}
			request.Header.Set("Authorization", "Bearer "+scraper.config.BearerToken)
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("it answers %s", response.Status)
			}
			_, err = io.Copy(&all, response.Body)
			return err
		})
	}
	if !strings.Contains(all.String(), "certrotation_") {
		t.Fatal("there are no metrics of certrotation")
	}
	return all.String()
}
