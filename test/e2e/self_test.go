// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

const (
	own       = "certrotation-system"
	ownSigner = "certrotation-signer"
)

// use is one request of each kind that kube-apiserver and its users send to serve.
type use struct {
	name string
	do   func(ctx context.Context) error
}

// uses of both listeners, over the connections that kube-apiserver keeps and over new ones.
func (s *system) uses() []use {
	allDry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	return []use{
		{"list through the aggregation layer", func(ctx context.Context) error {
			_, err := s.rot.CertrotationV1alpha1().CertificateRotations(demo).List(ctx, metav1.ListOptions{})
			return err
		}},
		{"safe write", func(ctx context.Context) error {
			_, err := s.kube.CoreV1().ConfigMaps(demo).Patch(ctx, bundle, types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/at":%q}}}`, time.Now()), allDry)
			return err
		}},
		{"write that the guard refuses", func(ctx context.Context) error {
			_, err := s.kube.CoreV1().ConfigMaps(demo).Patch(ctx, bundle, types.MergePatchType, []byte(`{"data":{"ca-bundle.crt":""}}`), allDry)
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "NeverEmpty") {
				return nil
			}
			return fmt.Errorf("want a refusal by NeverEmpty, got %w", err)
		}},
		{"new connections by the registered CA bundles", func(ctx context.Context) error {
			registrations, err := s.registrations(ctx)
			if err != nil {
				return err
			}
			for _, r := range registrations {
				if _, err := r.dial(ctx); err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
			}
			return nil
		}},
	}
}

// load repeats each use ten times a second.
type load struct {
	mu       sync.Mutex
	rounds   map[string]int
	failures []string
	// anchors is the largest CA bundle seen of each registration.
	anchors map[string]int
	workers sync.WaitGroup
}

func (s *system) startLoad(ctx context.Context) *load {
	l := &load{rounds: map[string]int{}, anchors: map[string]int{}}
	for _, u := range s.uses() {
		l.workers.Go(func() { l.repeat(ctx, u) })
	}
	l.workers.Go(func() {
		l.repeat(ctx, use{"registrations", func(ctx context.Context) error {
			registrations, err := s.registrations(ctx)
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, r := range registrations {
				l.anchors[r.name] = max(l.anchors[r.name], len(certificates(r.caBundle)))
			}
			return err
		}})
	})
	return l
}

func (l *load) repeat(ctx context.Context, u use) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := u.do(ctx)
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		l.rounds[u.name]++
		if err != nil {
			l.failures = append(l.failures, fmt.Sprintf("%s: %v", u.name, err))
		}
		l.mu.Unlock()
	}
}

// certificates parses a bundle, ignoring invalid certificates.
func certificates(bundle []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return found
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, c)
		}
	}
}

// hasten shortens the waiting times of the system's own trust domain for this test.
func (s *system) hasten(t *testing.T) {
	t.Helper()
	times := func(grace, drain time.Duration) func(*configv1alpha1.RotationConfigurationSpec) {
		return func(spec *configv1alpha1.RotationConfigurationSpec) {
			spec.TrustDomains[0].RelyingParties[0].Evidence.GracePeriod = &metav1.Duration{Duration: grace}
			spec.TrustDomains[0].UnlistedLeaves = &configv1alpha1.UnlistedLeaves{Drain: metav1.Duration{Duration: drain}}
		}
	}
	if err := s.reconfigure(t.Context(), own, "certrotation", times(3*time.Second, 5*time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.reconfigure(context.WithoutCancel(t.Context()), own, "certrotation", times(time.Minute, 5*time.Minute)); err != nil {
			t.Errorf("restore the configuration: %v", err)
		}
	})
}

func TestRotationOfItsOwnCA(t *testing.T) {
	s := theSystem(t)
	s.hasten(t)
	before := s.rotation(t.Context(), t, own, ownSigner).Status.Certificate.Fingerprint
	alive := s.lifesigns()

	ctx, stop := context.WithCancel(t.Context())
	l := s.startLoad(ctx)
	out, err := s.kubectl(t, "certrotation", "rotate", "-n", own, ownSigner, "--wait", "--timeout=90s")
	if err == nil {
		s.settle(ctx, t)
	}
	stop()
	l.workers.Wait()
	if err != nil {
		t.Fatalf("rotate --wait: %v\n%s", err, out)
	}
	t.Logf("rotate --wait printed:\n%s", out)
	t.Logf("rounds: %v, largest CA bundles: %v", l.rounds, l.anchors)

	if len(l.failures) > 0 {
		t.Errorf("%d failures, such as: %s", len(l.failures), strings.Join(l.failures[:min(5, len(l.failures))], "\n"))
	}
	for name, rounds := range l.rounds {
		if rounds < 40 {
			t.Errorf("%s: only %d rounds", name, rounds)
		}
	}
	for name, anchors := range l.anchors {
		if anchors != 2 {
			t.Errorf("%s: the CA bundle had at most %d anchors, want 2", name, anchors)
		}
	}
	s.assertServedByNewCA(t, before)
	s.assertAlive(t, alive)
}

// settle waits until the registrations hold a single CA again: the injector follows the bundle.
func (s *system) settle(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually(t, "each CA bundle holds one anchor", func(context.Context) (bool, string) {
		registrations, err := s.registrations(ctx)
		if err != nil {
			return false, err.Error()
		}
		counts := map[string]int{}
		for _, r := range registrations {
			counts[r.name] = len(certificates(r.caBundle))
		}
		return !slices.ContainsFunc(slices.Collect(maps.Values(counts)), func(n int) bool { return n != 1 }), fmt.Sprint(counts)
	})
}

// assertServedByNewCA asserts that both listeners present a leaf of the CA that is active now, and not of the one before.
func (s *system) assertServedByNewCA(t *testing.T, before string) {
	t.Helper()
	now := s.waitForStage(t, own, ownSigner, v1alpha1.StageStable)
	if now.Status.Certificate.Fingerprint == before {
		t.Error("the CA is the same as before")
	}
	secret := s.data(t.Context(), t, own, object{"Secret", ownSigner})
	active := certificates(secret["tls.crt"])[0]
	registrations, err := s.registrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range registrations {
		chain, err := r.dial(t.Context())
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if root := chain[len(chain)-1]; !root.Equal(active) {
			t.Errorf("%s: the leaf chains to %s, want %s", r.name, root.Subject, active.Subject)
		}
	}
}
