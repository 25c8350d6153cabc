// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

const (
	demo   = "mtls-demo"
	signer = "service-signer"
	bundle = "service-ca-bundle"
)

// anchors is how many trust anchors the sample's bundle holds.
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

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stages, most := s.follow(ctx, t)
	out, err := s.run(t, "", s.Cluster.Kubeconfig(), s.Cluster.Tool("kubectl"), "certrotation", "rotate", "-n", demo, signer, "--wait", "--timeout=2m")
	if err != nil {
		t.Fatalf("rotate --wait: %v\n%s", err, out)
	}
	t.Logf("rotate --wait printed:\n%s", out)
	stop()

	after := s.waitForStage(t, demo, signer, v1alpha1.StageStable)
	if after.Status.Certificate.Fingerprint == before.Status.Certificate.Fingerprint {
		t.Error("the CA is the same as before")
	}
	seen := <-stages
	for _, stage := range []v1alpha1.Stage{v1alpha1.StageDistributing, v1alpha1.StageReissuing, v1alpha1.StageDraining} {
		if !seen[stage] {
			t.Errorf("the watch never showed the stage %s: %v", stage, seen)
		}
	}
	if got := <-most; got != 2 {
		t.Errorf("the bundle held at most %d anchors, want 2", got)
	}
	if got := s.anchors(t.Context(), t); got != 1 {
		t.Errorf("the bundle holds %d anchors after the rotation, want 1", got)
	}
	s.assertNoOldKey(t)
	s.assertTraffic(t, start)
}

// follow collects the stages and the largest bundle that a watch shows until ctx ends.
func (s *system) follow(ctx context.Context, t *testing.T) (stages chan map[v1alpha1.Stage]bool, most chan int) {
	t.Helper()
	stages, most = make(chan map[v1alpha1.Stage]bool, 1), make(chan int, 1)
	rotations, err := s.rot.CertrotationV1alpha1().CertificateRotations(demo).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + signer})
	if err != nil {
		t.Fatalf("watch certificaterotations: %v", err)
	}
	bundles, err := s.rot.CertrotationV1alpha1().BundleStatuses(demo).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("watch bundlestatuses: %v", err)
	}
	go func() {
		defer rotations.Stop()
		seen := map[v1alpha1.Stage]bool{}
		for event := range rotations.ResultChan() {
			if c, ok := event.Object.(*v1alpha1.CertificateRotation); ok {
				seen[c.Status.Stage] = true
			}
		}
		stages <- seen
	}()
	go func() {
		defer bundles.Stop()
		largest := 0
		for event := range bundles.ResultChan() {
			if b, ok := event.Object.(*v1alpha1.BundleStatus); ok {
				largest = max(largest, len(b.Status.Anchors))
			}
		}
		most <- largest
	}()
	return stages, most
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

// assertTraffic asserts that the sample has made handshakes since start, none of which failed.
func (s *system) assertTraffic(t *testing.T, start counters) {
	t.Helper()
	eventually(t, "traffic goes on", func(context.Context) (bool, string) {
		return s.counters(t).Handshakes > start.Handshakes+20, "no new handshakes"
	})
	if now := s.counters(t); now.Failures != start.Failures {
		t.Errorf("%d handshakes failed: %v", now.Failures-start.Failures, now.Reasons)
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
	if out, err := s.run(t, "", s.Cluster.Kubeconfig(), s.Cluster.Tool("kubectl"), "certrotation", "rotate", "-n", demo, signer); err != nil {
		t.Fatalf("rotate: %v\n%s", err, out)
	}
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

// assertNothingAdvances watches the certificates for a while in which the controller is triggered again and again.
func (s *system) assertNothingAdvances(t *testing.T) {
	t.Helper()
	fingerprints := func() string {
		return s.must(t, "get", "certificaterotations", "-n", demo, "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.stage}/{.status.certificate.fingerprint} {end}`)
	}
	before := fingerprints()
	for i := range 5 {
		value := strings.Repeat("x", i+1)
		s.must(t, "annotate", "--overwrite", "-n", demo, "configmap", bundle, "example.com/wake-up="+value)
		s.must(t, "annotate", "--overwrite", "-n", demo, "secret", "service-server", "example.com/wake-up="+value)
	}
	deadline := time.NewTimer(3 * time.Second)
	defer deadline.Stop()
	<-deadline.C
	if after := fingerprints(); after != before {
		t.Errorf("the rotation advanced although client-b holds it:\n%s\n%s", before, after)
	}
}

func TestControllerKilledInEveryStage(t *testing.T) {
	s := theSystem(t)
	start := s.counters(t)
	before := s.rotation(t.Context(), t, demo, signer).Status.Certificate.Fingerprint
	w, err := s.rot.CertrotationV1alpha1().CertificateRotations(demo).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	defer w.Stop()
	if out, err := s.run(t, "", s.Cluster.Kubeconfig(), s.Cluster.Tool("kubectl"), "certrotation", "rotate", "-n", demo, signer); err != nil {
		t.Fatalf("rotate: %v\n%s", err, out)
	}
	kills, last := 0, ""
	timeout := time.NewTimer(4 * time.Minute)
	defer timeout.Stop()
	for done := false; !done; {
		select {
		case event := <-w.ResultChan():
			c, ok := event.Object.(*v1alpha1.CertificateRotation)
			if !ok {
				t.Fatalf("watch ended: %v", event)
			}
			state := c.Name + " " + string(c.Status.Stage) + " " + fingerprintOf(c)
			if c.Name == signer && c.Status.Stage == v1alpha1.StageStable && c.Status.Certificate.Fingerprint != before {
				done = true
			} else if state != last && c.Status.Stage != v1alpha1.StageStable && kills < 12 {
				last = state
				kills++
				s.killController(t)
			}
		case <-timeout.C:
			t.Fatalf("the rotation did not end after %d kills: %+v", kills, s.rotation(t.Context(), t, demo, signer).Status)
		}
	}
	t.Logf("killed the controller %d times", kills)
	if kills < 4 {
		t.Errorf("the controller was killed only %d times", kills)
	}
	if got := s.anchors(t.Context(), t); got != 1 {
		t.Errorf("the bundle holds %d anchors, want 1", got)
	}
	s.assertNoOldKey(t)
	s.assertTraffic(t, start)
}

func fingerprintOf(c *v1alpha1.CertificateRotation) string {
	if c.Status.Certificate == nil {
		return ""
	}
	return c.Status.Certificate.Fingerprint
}

func (s *system) killController(t *testing.T) {
	t.Helper()
	if err := s.Controller.Kill(); err != nil {
		t.Fatalf("kill -9 the controller: %v", err)
	}
	if err := s.Controller.Start(); err != nil {
		t.Fatalf("start the controller: %v", err)
	}
}
