// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

func openssl(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// foreignLeaf makes a leaf for the sample's server, signed by an unknown CA.
func foreignLeaf(t *testing.T) (crt, key []byte) {
	t.Helper()
	dir := t.TempDir()
	openssl(t, dir, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=foreign")
	openssl(t, dir, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=service-server")
	openssl(t, dir, "x509", "-req", "-in", "leaf.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "leaf.crt", "-days", "20")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return append(read("leaf.crt"), read("ca.crt")...), read("leaf.key")
}

func patch(t *testing.T, data map[string][]byte) string {
	t.Helper()
	encoded := map[string]string{}
	for k, v := range data {
		encoded[k] = base64.StdEncoding.EncodeToString(v)
	}
	out, err := json.Marshal(map[string]any{"data": encoded})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// refused asserts that kubectl fails with a denial of the guard.
func (s *system) refused(t *testing.T, contains []string, args ...string) {
	t.Helper()
	out, err := s.kubectl(t, args...)
	if err == nil {
		t.Fatalf("kubectl %s was let through:\n%s", strings.Join(args, " "), out)
	}
	for _, text := range append(contains, "Safe way:") {
		if !strings.Contains(out, text) {
			t.Errorf("the refusal lacks %q:\n%s", text, out)
		}
	}
}

func TestGuardRefusesWhatWouldBreakAStableDomain(t *testing.T) {
	s := theSystem(t)
	crt, key := foreignLeaf(t)
	t.Run("leaf of a foreign CA", func(t *testing.T) {
		s.refused(t, []string{"TrustBeforeUse", "service-server", "client-a"},
			"patch", "secret", "-n", demo, "service-server", "--type=merge", "-p", patch(t, map[string][]byte{"tls.crt": crt, "tls.key": key}))
	})
	t.Run("key of another certificate", func(t *testing.T) {
		s.refused(t, []string{"PairMatches", "service-server"},
			"patch", "secret", "-n", demo, "service-server", "--type=merge", "-p", patch(t, map[string][]byte{"tls.key": key}))
	})
	t.Run("active CA replaced in one write", func(t *testing.T) {
		dir := t.TempDir()
		openssl(t, dir, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=other")
		ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		caKey, err := os.ReadFile(filepath.Join(dir, "ca.key"))
		if err != nil {
			t.Fatal(err)
		}
		s.refused(t, []string{"TrustBeforeUse", signer},
			"patch", "secret", "-n", demo, signer, "--type=merge", "-p", patch(t, map[string][]byte{"tls.crt": ca, "tls.key": caKey}))
	})
	t.Run("emptied bundle", func(t *testing.T) {
		s.refused(t, []string{"NeverEmpty", bundle}, "patch", "configmap", "-n", demo, bundle, "--type=merge", "-p", `{"data":{"ca-bundle.crt":""}}`)
	})
	t.Run("broken configuration", func(t *testing.T) {
		out, err := s.kubectl(t, "patch", "rotationconfiguration", "-n", demo, "service", "--type=merge", "-p", `{"spec":{"preset":{"mtlsService":{"serverName":"no name"}}}}`)
		if err == nil || !strings.Contains(out, "spec.preset.mtlsService.serverName") {
			t.Errorf("a configuration with a bad name: err %v\n%s", err, out)
		}
	})
}

func TestGuardLetsSafeEditsThrough(t *testing.T) {
	s := theSystem(t)
	start := s.counters(t)
	s.must(t, "annotate", "-n", demo, "secret", "service-server", "example.com/note=hello", "--overwrite")
	s.must(t, "label", "-n", demo, "configmap", bundle, "example.com/team=pki", "--overwrite")
	t.Run("a deleted stable leaf is reissued", func(t *testing.T) {
		before := s.rotation(t.Context(), t, demo, "service-client-a").Status.Certificate.Fingerprint
		s.must(t, "delete", "secret", "-n", demo, "service-client-a")
		s.waitForNewLeaf(t, "service-client-a", before)
	})
	for _, date := range []string{trust.AnnotationNotAfter, trust.AnnotationNotBefore} {
		t.Run("a deleted "+date+" asks for a new leaf", func(t *testing.T) {
			before := s.rotation(t.Context(), t, demo, "service-client-a").Status.Certificate.Fingerprint
			s.must(t, "annotate", "-n", demo, "secret", "service-client-a", date+"-")
			s.waitForNewLeaf(t, "service-client-a", before)
		})
	}
	t.Run("a deleted stable bundle is rebuilt", func(t *testing.T) {
		s.must(t, "delete", "configmap", "-n", demo, bundle)
		eventually(t, "the bundle is back", func(ctx context.Context) (bool, string) {
			cm, err := s.kube.CoreV1().ConfigMaps(demo).Get(ctx, bundle, metav1.GetOptions{})
			return err == nil && strings.Contains(cm.Data["ca-bundle.crt"], "BEGIN CERTIFICATE"), "no bundle"
		})
	})
	s.waitForStage(t, demo, signer, v1alpha1.StageStable)
	s.assertTraffic(t, start)
}

func (s *system) waitForNewLeaf(t *testing.T, name, before string) {
	t.Helper()
	eventually(t, name+" is reissued", func(ctx context.Context) (bool, string) {
		c := s.rotation(ctx, t, demo, name)
		return c.Status.Certificate != nil && c.Status.Certificate.Fingerprint != before, "the same leaf or none"
	})
}

func TestGuardDuringARotation(t *testing.T) {
	s := theSystem(t)
	start := s.counters(t)
	s.http(t, http.MethodPost, s.sample.ControlURL["b"]+"/hold")
	defer func() {
		s.http(t, http.MethodPost, s.sample.ControlURL["b"]+"/resume")
		s.waitForStage(t, demo, signer, v1alpha1.StageStable)
		s.assertTraffic(t, start)
	}()
	s.must(t, "certrotation", "rotate", "-n", demo, signer)
	s.waitForBlocker(t, "client-b")

	t.Run("annotation deleted", func(t *testing.T) {
		s.refused(t, []string{"ContentDecides", "certificate-not-after"},
			"annotate", "-n", demo, "secret", signer, "auth.openshift.io/certificate-not-after-")
	})
	t.Run("annotation lowered", func(t *testing.T) {
		s.refused(t, []string{"ContentDecides", "certificate-not-after"},
			"annotate", "--overwrite", "-n", demo, "secret", "service-server", "auth.openshift.io/certificate-not-after=2001-01-01T00:00:00Z")
	})
	t.Run("old anchor deleted while leaves need it", func(t *testing.T) {
		s.refused(t, []string{"AnchorInUse", bundle}, "patch", "configmap", "-n", demo, bundle, "--type=merge", "-p", s.withoutOldAnchor(t))
	})
	t.Run("bundle deleted", func(t *testing.T) {
		s.refused(t, []string{"AnchorInUse", bundle}, "delete", "configmap", "-n", demo, bundle)
	})
	t.Run("signer deleted", func(t *testing.T) {
		s.refused(t, []string{"OneRotation", signer}, "delete", "secret", "-n", demo, signer)
	})
	t.Run("second rotation", func(t *testing.T) {
		out, err := s.kubectl(t, "certrotation", "rotate", "-n", demo, signer)
		if err == nil || !strings.Contains(out, "OneRotation") {
			t.Errorf("a second rotation: err %v\n%s", err, out)
		}
	})
	t.Run("unrelated edits are let through", func(t *testing.T) {
		s.must(t, "annotate", "--overwrite", "-n", demo, "secret", signer, "example.com/note=hello")
	})
}

// withoutOldAnchor returns a merge patch that leaves only the newest anchor.
func (s *system) withoutOldAnchor(t *testing.T) string {
	t.Helper()
	cm, err := s.kube.CoreV1().ConfigMaps(demo).Get(t.Context(), bundle, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pem := cm.Data["ca-bundle.crt"]
	newest := pem[strings.LastIndex(pem, "-----BEGIN CERTIFICATE"):]
	out, err := json.Marshal(map[string]any{"data": map[string]string{"ca-bundle.crt": newest}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestNamespaceDeletionIsNeverBlocked(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "going-away"
	s.must(t, "create", "namespace", namespace)
	s.must(t, "label", "namespace", namespace, "certrotation.dev/guard=enabled", "certrotation.dev/managed=true")
	s.mustConfigure(t, namespace, twoDomains)
	eventually(t, "the trust domain is there", func(ctx context.Context) (bool, string) {
		_, err := s.kube.CoreV1().Secrets(namespace).Get(ctx, "web-server", metav1.GetOptions{})
		return err == nil, "no leaf"
	})
	// While a rotation is in flight the bundle cannot be deleted.
	s.must(t, "certrotation", "rotate", "-n", namespace, "web-signer")
	s.waitForStage(t, namespace, "web-signer", v1alpha1.StageDistributing)
	s.refused(t, []string{"AnchorInUse"}, "delete", "configmap", "-n", namespace, "web-ca-bundle")
	s.must(t, "delete", "namespace", namespace, "--timeout=60s")
}
