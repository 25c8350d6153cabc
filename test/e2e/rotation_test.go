// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

const (
	demo   = "mtls-demo"
	signer = "service-signer"
	bundle = "service-ca-bundle"
)

func (s *system) anchors(ctx context.Context, t *testing.T) int {
	t.Helper()
	cm, err := s.kube.CoreV1().ConfigMaps(demo).Get(ctx, bundle, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get bundle: %v", err)
	}
	return strings.Count(cm.Data["ca-bundle.crt"], "BEGIN CERTIFICATE")
}

func TestRotationUnderTraffic(t *testing.T) {
	s := theSystem(t)
	before := s.rotation(t.Context(), t, demo, signer)
	start := s.counters(t)
	writes, err := s.kube.CoreV1().ConfigMaps(demo).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + bundle})
	if err != nil {
		t.Fatalf("watch the bundle: %v", err)
	}
	defer writes.Stop()

	out := s.must(t, "certrotation", "rotate", "-n", demo, signer, "--wait", "--timeout="+patience.String())
	t.Logf("rotate --wait printed:\n%s", out)

	after := s.waitForStage(t, demo, signer, v1alpha1.StageStable)
	if after.Status.Certificate.Fingerprint == before.Status.Certificate.Fingerprint {
		t.Error("the CA is the same as before")
	}
	if got := s.anchors(t.Context(), t); got != 1 {
		t.Errorf("the bundle holds %d anchors after the rotation, want 1", got)
	}
	assertAnchors(t, writes, 1, 2, 1)
	s.assertNoOldKey(t)
	s.assertBesideLeaves(t)
	s.assertTraffic(t, start)
}

// assertBesideLeaves asserts that each leaf has exactly the anchors of the bundle beside it.
func (s *system) assertBesideLeaves(t *testing.T) {
	t.Helper()
	published, err := s.kube.CoreV1().ConfigMaps(demo).Get(t.Context(), bundle, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get the bundle: %v", err)
	}
	for _, name := range []string{"service-server", "service-client-a", "service-client-b"} {
		secret, err := s.kube.CoreV1().Secrets(demo).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("get the leaf: %v", err)
		}
		if beside := string(secret.Data[corev1.ServiceAccountRootCAKey]); beside != published.Data["ca-bundle.crt"] {
			t.Errorf("%s has under ca.crt\n%s\nand the bundle is\n%s", name, beside, published.Data["ca-bundle.crt"])
		}
	}
}

// assertAnchors asserts that the bundle has held these numbers of anchors, in this order. A watch of
// kube-apiserver shows each write.
func assertAnchors(t *testing.T, writes watch.Interface, want ...int) {
	t.Helper()
	var got []int
	for len(got) < len(want) {
		cm, ok := next(t, writes, "a write of the bundle").(*corev1.ConfigMap)
		if !ok {
			t.Fatalf("the watch of the bundle ended after %v anchors", got)
		}
		if n := strings.Count(cm.Data["ca-bundle.crt"], "BEGIN CERTIFICATE"); len(got) == 0 || got[len(got)-1] != n {
			got = append(got, n)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the bundle held %v anchors, want %v", got, want)
	}
}

func next(t *testing.T, w watch.Interface, what string) runtime.Object {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case event := <-w.ResultChan():
		return event.Object
	case <-ctx.Done():
		t.Fatalf("wait for %s: %v", what, ctx.Err())
		return nil
	}
}

func (s *system) assertNoOldKey(t *testing.T) {
	t.Helper()
	secret, err := s.kube.CoreV1().Secrets(demo).Get(t.Context(), signer, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get the signer's Secret: %v", err)
	}
	for key, value := range secret.Data {
		if (strings.HasPrefix(key, "previous-") || strings.HasPrefix(key, "next-")) && len(value) > 0 {
			t.Errorf("the signer's Secret still holds %s", key)
		}
	}
}

// assertTraffic asserts that the sample has made handshakes since start. No handshake failed, except for timeouts.
func (s *system) assertTraffic(t *testing.T, start counters) {
	t.Helper()
	eventually(t, "traffic goes on", func(context.Context) (bool, string) {
		return s.counters(t).Handshakes > start.Handshakes+20, "no new handshakes"
	})
	now := s.counters(t)
	failures := maps.Clone(now.Reasons)
	maps.DeleteFunc(failures, func(reason string, n int64) bool { return reason == "timeout" || n == start.Reasons[reason] })
	if len(failures) > 0 {
		t.Errorf("handshakes failed: %v, before %v", failures, start.Reasons)
	}
}

func TestRotationHoldsForAClientThatDoesNotReload(t *testing.T) {
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
	s.assertBlockerIsNamedEverywhere(t)
	s.assertNothingAdvances(t)
}

func (s *system) waitForBlocker(t *testing.T, party string) {
	t.Helper()
	eventually(t, "only "+party+" blocks", func(ctx context.Context) (bool, string) {
		c := s.rotation(ctx, t, demo, signer)
		for _, b := range c.Status.Blockers {
			if b.Party != party {
				return false, "another blocker: " + b.Party + " " + b.Object + " " + b.Message
			}
		}
		return len(c.Status.Blockers) > 0, "no blocker"
	})
}

func (s *system) assertBlockerIsNamedEverywhere(t *testing.T) {
	t.Helper()
	if out := s.must(t, "get", "certificaterotations", "-n", demo, signer, "-o", "wide"); !strings.Contains(out, "client-b") {
		t.Errorf("the wide table does not name client-b:\n%s", out)
	}
	out := s.must(t, "get", "certificaterotation", "-n", demo, signer, "-o", `jsonpath={.status.conditions[?(@.type=="Blocked")]}`)
	if !strings.Contains(out, "client-b") || !strings.Contains(out, `"True"`) {
		t.Errorf("the condition Blocked does not name client-b: %s", out)
	}
	if out := s.must(t, "certrotation", "tree", "-n", demo); !strings.Contains(out, "client-b") {
		t.Errorf("the tree does not name client-b:\n%s", out)
	}
	eventually(t, "an event names client-b", func(context.Context) (bool, string) {
		out := s.must(t, "get", "events", "-n", demo, "-o", "wide")
		for line := range strings.Lines(out) {
			if strings.Contains(line, "RotationBlocked") && strings.Contains(line, "client-b") {
				return true, ""
			}
		}
		return false, out
	})
}

// assertNothingAdvances asserts that the certificates stay the same while the controller reconciles.
func (s *system) assertNothingAdvances(t *testing.T) {
	t.Helper()
	fingerprints := func() string {
		return s.must(t, "get", "certificaterotations", "-n", demo, "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.stage}/{.status.certificate.fingerprint} {end}`)
	}
	before := fingerprints()
	s.decidesAgain(t, 5, demo, "service-server")
	if after := fingerprints(); after != before {
		t.Errorf("the rotation advanced although client-b holds it:\n%s\n%s", before, after)
	}
}

// TestControllerKilledInEveryStage kills the controller in each stage of a rotation. To make each stage last until
// the watch has shown it, the test holds programs of the sample, and finally the write of the bundle.
func TestControllerKilledInEveryStage(t *testing.T) {
	s := theSystem(t)
	start := s.counters(t)
	before := fingerprintOf(s.rotation(t.Context(), t, demo, signer))
	w, err := s.rot.CertrotationV1alpha1().CertificateRotations(demo).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + signer})
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	defer w.Stop()
	server, a, b := strings.TrimSuffix(s.sample.StatsURL, "/stats"), s.sample.ControlURL["a"], s.sample.ControlURL["b"]
	hold, resume := s.control(t, "/hold"), s.control(t, "/resume")
	defer resume(server, a, b)
	killedIn := func(stage v1alpha1.Stage) {
		t.Helper()
		for shown := v1alpha1.Stage(""); shown != stage; {
			c, ok := next(t, w, "the stage "+string(stage)).(*v1alpha1.CertificateRotation)
			if !ok {
				t.Fatalf("the watch ended in the stage %s", shown)
			}
			shown = c.Status.Stage
		}
		s.killController(t)
		s.startController(t)
	}

	hold(server, a, b)
	s.must(t, "certrotation", "rotate", "-n", demo, signer)
	killedIn(v1alpha1.StageDistributing)
	// The leaves of the clients are reissued. The leaf of the server is not, because the clients verify it.
	resume(server)
	killedIn(v1alpha1.StageReissuing)
	// The server continues to present its former leaf.
	hold(server)
	resume(a, b)
	killedIn(v1alpha1.StageDraining)
	allow := s.forbidUpdates(t, demo, "configmaps", bundle)
	resume(server)
	killedIn(v1alpha1.StageRetiring)
	allow()

	if after := s.waitForStage(t, demo, signer, v1alpha1.StageStable); fingerprintOf(after) == before {
		t.Error("the CA is the same as before")
	}
	if got := s.anchors(t.Context(), t); got != 1 {
		t.Errorf("the bundle holds %d anchors, want 1", got)
	}
	s.assertNoOldKey(t)
	s.assertTraffic(t, start)
}

// control returns a function that makes the programs at the URLs hold or resume the loading of files.
func (s *system) control(t *testing.T, path string) func(urls ...string) {
	return func(urls ...string) {
		for _, url := range urls {
			s.http(t, http.MethodPost, url+path)
		}
	}
}

func fingerprintOf(c *v1alpha1.CertificateRotation) string {
	if c.Status.Certificate == nil {
		return ""
	}
	return c.Status.Certificate.Fingerprint
}
