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

// renew mints a leaf if there is none, if its CA was replaced, or if it is due.
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

// mint makes a new leaf from the CA that is active now and tells the listeners.
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

// due says after what time a new leaf is to be minted because of its age; zero or less for now.
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

// outdated says whether the CA of the signer is another one than the leaf was signed by. A Secret that cannot be read is no
// reason to give up what is there.
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
