// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// minter issues client leaves that exist only in memory, during a probe.
type minter interface {
	// Mint signs a leaf with a CA of the domain's signer. It returns errUnmintable if the signer has no usable key of
	// that CA.
	Mint(ctx context.Context, d *trust.Domain, ca pki.Fingerprint, profile pki.Profile) (tls.Certificate, error)
}

// errUnmintable means that a signer does not hold the CA or its key.
var errUnmintable = errors.New("the signer has no usable key of this CA")

// Minted leaves are valid during one visit, also on servers with a slow clock.
const (
	mintedFor    = 2 * time.Minute
	mintedBefore = 5 * time.Minute
)

type signers struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
}

// Mint implements minter. It reads the signer's key, or that of its issuer, from the API server, uses it once and does not keep it.
func (m *signers) Mint(ctx context.Context, d *trust.Domain, ca pki.Fingerprint, profile pki.Profile) (tls.Certificate, error) {
	name := keyHolder(d)
	secret, err := m.client.CoreV1().Secrets(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return tls.Certificate{}, fmt.Errorf("signer %s/%s does not exist: %w", d.Namespace, name, errUnmintable)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read signer %s/%s: %w", d.Namespace, name, err)
	}
	if !trust.Consents(secret.Annotations, d.Configuration) {
		return tls.Certificate{}, fmt.Errorf("signer %s/%s does not consent to RotationConfiguration/%s: %w", d.Namespace, name, d.Configuration, errUnmintable)
	}
	pair, err := inventory.SignerPair(secret.Data, ca)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read signer %s/%s: %w: %w", d.Namespace, name, errUnmintable, err)
	}
	leaf, err := leafOf(pair, profile, m.clock.Now())
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign with %s/%s: %w: %w", d.Namespace, name, errUnmintable, err)
	}
	return leaf, nil
}

// keyHolder is the Secret with the keys of the CAs.
func keyHolder(d *trust.Domain) string {
	if d.Signer.Issued != nil {
		return d.Signer.Issued.Name
	}
	return d.Signer.Name
}

func leafOf(ca *pki.Pair, profile pki.Profile, now time.Time) (tls.Certificate, error) {
	leaf, err := ca.Issue(profile, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return dial.Certificate(leaf)
}
