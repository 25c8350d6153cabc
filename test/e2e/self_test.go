// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
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
	ownBundle = "certrotation-ca-bundle"
)

// use is one request of each kind that kube-apiserver and its users send to serve.
type use struct {
	name string
	do   func(ctx context.Context) error
}

// uses returns the uses of both listeners, over the persistent connections of kube-apiserver and over new ones.
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

// steadyLoad repeats each use ten times a second.
type steadyLoad struct {
	mu sync.Mutex
	// rounds counts the successful requests.
	rounds   map[string]int
	failures []string
	workers  sync.WaitGroup
}

func (s *system) startLoad(ctx context.Context) *steadyLoad {
	l := &steadyLoad{rounds: map[string]int{}}
	for _, u := range s.uses() {
		l.rounds[u.name] = 0
		l.workers.Go(func() { l.repeat(ctx, u) })
	}
	return l
}

func (l *steadyLoad) repeat(ctx context.Context, u use) {
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
		switch {
		case err == nil:
			l.rounds[u.name]++
		case !isTimeout(err):
			l.failures = append(l.failures, fmt.Sprintf("%s: %v", u.name, err))
		}
		l.mu.Unlock()
	}
}

func isTimeout(err error) bool {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "context deadline exceeded") || strings.Contains(text, "TLS handshake timeout")
}

// succeeds waits until each use has succeeded ten more times.
func (l *steadyLoad) succeeds(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	before := maps.Clone(l.rounds)
	l.mu.Unlock()
	eventually(t, "each use succeeds", func(context.Context) (bool, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, n := range l.rounds {
			if n < before[name]+10 {
				return false, fmt.Sprintf("%s: %d rounds, %d before; failures: %q", name, n, before[name], l.failures)
			}
		}
		return true, ""
	})
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

// witness is a relying party of the system's own trust domain that the test plays.
const witness = "witness"

// hasten shortens the waiting times of the system's own trust domain. The test itself decides when a new CA may
// sign.
func (s *system) hasten(t *testing.T) {
	t.Helper()
	var former configv1alpha1.RotationConfigurationSpec
	err := s.reconfigure(t.Context(), own, "certrotation", func(spec *configv1alpha1.RotationConfigurationSpec) {
		former = *spec.DeepCopy()
		domain := &spec.TrustDomains[0]
		domain.RelyingParties[0].Evidence.GracePeriod = &metav1.Duration{Duration: time.Second}
		domain.UnlistedLeaves = &configv1alpha1.UnlistedLeaves{Drain: metav1.Duration{Duration: time.Second}}
		domain.RelyingParties = append(domain.RelyingParties, configv1alpha1.RelyingParty{
			Name: witness, Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceAcknowledgement},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		restore := func(spec *configv1alpha1.RotationConfigurationSpec) { *spec = former }
		if err := s.reconfigure(context.WithoutCancel(t.Context()), own, "certrotation", restore); err != nil {
			t.Errorf("restore the configuration: %v", err)
		}
	})
	s.observed(t, own, "certrotation")
}

// TestRotationOfItsOwnCA uses each of both CAs while the other one is trusted too. The witness delays the
// promotion of the new CA, and an admission policy the removal of the old one.
func TestRotationOfItsOwnCA(t *testing.T) {
	s := theSystem(t)
	s.hasten(t)
	before := fingerprintOf(s.rotation(t.Context(), t, own, ownSigner))
	alive := s.lifesigns()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := s.startLoad(ctx)
	s.must(t, "certrotation", "rotate", "-n", own, ownSigner)
	s.trusts(t, 2)
	l.succeeds(t)
	allow := s.forbidUpdates(t, own, "configmaps", ownBundle)
	eventually(t, "the witness reports", func(ctx context.Context) (bool, string) {
		problem := s.acknowledge(ctx, own, witness, ownSigner, ownBundle)
		return problem == "", problem
	})
	eventually(t, "both listeners present a leaf of another CA", func(ctx context.Context) (bool, string) {
		c := s.rotation(ctx, t, own, ownSigner)
		problem := s.servedBy(ctx, c)
		return fingerprintOf(c) != before && problem == "", fmt.Sprintf("%s, stage %s", problem, c.Status.Stage)
	})
	l.succeeds(t)
	allow()
	after := s.waitForStage(t, own, ownSigner, v1alpha1.StageStable)
	s.trusts(t, 1)
	l.succeeds(t)
	stop()
	l.workers.Wait()
	t.Logf("rounds: %v", l.rounds)

	if len(l.failures) > 0 {
		t.Errorf("%d failures, such as: %s", len(l.failures), strings.Join(l.failures[:min(5, len(l.failures))], "\n"))
	}
	if problem := s.servedBy(t.Context(), after); fingerprintOf(after) == before || problem != "" {
		t.Errorf("the CA is %s, before it was %s; %s", fingerprintOf(after), before, problem)
	}
	s.assertAlive(t, alive)
}

// trusts waits until each registration holds this number of CAs, because the injector follows the bundle with a
// delay.
func (s *system) trusts(t *testing.T, anchors int) {
	t.Helper()
	eventually(t, fmt.Sprintf("each CA bundle holds %d anchors", anchors), func(ctx context.Context) (bool, string) {
		registrations, err := s.registrations(ctx)
		if err != nil {
			return false, err.Error()
		}
		for _, r := range registrations {
			if n := len(certificates(r.caBundle)); n != anchors {
				return false, fmt.Sprintf("%s: %d anchors", r.name, n)
			}
		}
		return true, ""
	})
}

// servedBy names a listener that does not present a leaf of the active CA, "" if there is none.
func (s *system) servedBy(ctx context.Context, active *v1alpha1.CertificateRotation) string {
	registrations, err := s.registrations(ctx)
	if err != nil {
		return err.Error()
	}
	for _, r := range registrations {
		chain, err := r.dial(ctx)
		if err != nil {
			return fmt.Sprintf("%s: %v", r.name, err)
		}
		if sum := sha256.Sum256(chain[len(chain)-1].Raw); hex.EncodeToString(sum[:]) != fingerprintOf(active) {
			return fmt.Sprintf("%s: the leaf chains to %s", r.name, chain[len(chain)-1].Subject)
		}
	}
	return ""
}
