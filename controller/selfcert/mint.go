// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// renew mints a leaf if there is none, if the CA has changed, or if the leaf is due by age.
func (p *Provider) renew(ctx context.Context, leaf string) error {
	if p.due() <= 0 || p.outdated() {
		if err := p.mint(ctx); err != nil {
			return err
		}
	}
	if wait := p.due(); wait > 0 {
		p.queue.AddAfter(leaf, wait)
	}
	return nil
}

func (p *Provider) mint(ctx context.Context) error {
	next, err := p.make(ctx)
	p.mu.Lock()
	p.lastErr = err
	if err == nil {
		p.current = next
	}
	listeners := slices.Clone(p.listeners)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Minted a serving certificate", "fingerprint", next.leaf.Fingerprint,
		"issuer", next.leaf.Issuer, "notAfter", next.leaf.NotAfter)
	for _, listener := range listeners {
		listener.Enqueue()
	}
	return nil
}

func (p *Provider) make(ctx context.Context) (*serving, error) {
	secret, err := p.client.CoreV1().Secrets(p.opts.Namespace).Get(ctx, p.opts.SignerSecret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read signer %s/%s: %w", p.opts.Namespace, p.opts.SignerSecret, err)
	}
	ca, err := inventory.ActivePair(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("read signer %s/%s: %w", p.opts.Namespace, p.opts.SignerSecret, err)
	}
	leaf, err := ca.Issue(p.profile, p.opts.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("sign with %s/%s: %w", p.opts.Namespace, p.opts.SignerSecret, err)
	}
	key, err := leaf.KeyPEM()
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return &serving{cert: leaf.CertPEM(), key: key, leaf: leaf.Certificate, signer: ca.Certificate.Fingerprint}, nil
}

// due returns the time until the leaf must be renewed because of its age; zero or less means now.
func (p *Provider) due() time.Duration {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.current == nil {
		return 0
	}
	leaf := p.current.leaf
	at := leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 3 * 2)
	return at.Sub(p.opts.Clock.Now())
}

// outdated reports whether the signer's active CA differs from the one that signed the leaf. An unreadable Secret
// does not outdate the leaf.
func (p *Provider) outdated() bool {
	found, exists, err := p.signer.GetByKey(p.opts.Namespace + "/" + p.opts.SignerSecret)
	secret, ok := found.(*corev1.Secret)
	if err != nil || !exists || !ok {
		return false
	}
	chain, err := pki.ParseChain(secret.Data[inventory.ActiveCertKey])
	if err != nil {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.current == nil || p.current.signer != chain[0].Fingerprint
}
