// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Data keys of certificates, in the order in which they are looked for. The certificate of an authority is ca.crt, and so is that
// of the signer of a leaf.
const (
	keyCertificate = "tls.crt"
	keyCA          = "ca.crt"
	keyCAKey       = "ca.key"
	suffixCert     = ".crt"
)

// Edition is what matters of one Secret of a name. It has nothing of the data but their checksum.
type Edition struct {
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	Created         time.Time
	// Issued and Until bound the validity of the data, zero if that is not known.
	Issued, Until time.Time
	// Authority says that it is a CA.
	Authority bool
	// Checksum is DataChecksum.
	Checksum string
	// Configuration is the RotationConfiguration that it consents to, "" for none.
	Configuration string
}

// Of is the edition that a Secret is.
func Of(secret *corev1.Secret) *Edition {
	e := &Edition{
		NamespacedName: types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name},
		UID:            secret.UID, ResourceVersion: secret.ResourceVersion,
		Labels: secret.Labels, Created: secret.CreationTimestamp.Time, Checksum: DataChecksum(secret.Data),
		Authority:     len(secret.Data[keyCA]) > 0 && (len(secret.Data[keyCAKey]) > 0 || secret.Labels[LabelKeyOutside] == True),
		Configuration: secret.Annotations[trust.AnnotationConfiguration],
	}
	if certificate := Certificate(secret); certificate != nil {
		e.Issued, e.Until = certificate.NotBefore, certificate.NotAfter
		return e
	}
	e.Issued, _ = parseUnix(secret.Labels[LabelIssuedAtTime])
	e.Until, _ = parseUnix(secret.Labels[LabelValidUntilTime])
	return e
}

// Certificate is the one that a Secret is about: of a leaf, of a control plane, or of an authority. It is nil if there is none, or
// none that can be read. The ca.crt of what is no authority is somebody else's.
func Certificate(secret *corev1.Secret) *pki.Certificate {
	keys := []string{keyCertificate, secret.Labels[LabelName] + suffixCert}
	if len(secret.Data[keyCAKey]) > 0 || secret.Labels[LabelKeyOutside] == True {
		keys = append(keys, keyCA)
	}
	for _, key := range keys {
		if data := secret.Data[key]; len(data) > 0 {
			chain, err := pki.ParseChain(data)
			if err != nil {
				return nil
			}
			return chain[0]
		}
	}
	return nil
}

// Of what name an edition is.
func (e *Edition) name() string { return e.Labels[LabelName] }

// about is the name that an edition belongs to: a bundle to that of what it is the bundle of.
func (e *Edition) about() string {
	if of := e.Labels[LabelBundleFor]; of != "" {
		return of
	}
	return e.name()
}

// number of an edition, 0 for one without.
func (e *Edition) number() int64 {
	n, err := strconv.ParseInt(e.Labels[LabelGeneration], 10, 64)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// Expired says whether its validity has ended, as far as that is known.
func (e *Edition) Expired(now time.Time) bool { return !e.Until.IsZero() && !now.Before(e.Until) }

// Rules of renewal.
const (
	usualPercentage = 80
	// margin before the end at which everything is renewed that is valid for longer.
	margin = 10 * 24 * time.Hour
)

// RenewAt is when an edition is due for renewal, and whether it ever is: at a percentage of its validity, 80 if none is given, or ten
// days before its end, whichever comes first. What is valid for ten days or less has its percentage alone, and nothing is renewed
// before half of its validity because of the ten days: it would be due again as soon as it is there.
func (e *Edition) RenewAt() (time.Time, bool) {
	if e.Issued.IsZero() || e.Until.IsZero() || !e.Until.After(e.Issued) {
		return time.Time{}, false
	}
	validity := e.Until.Sub(e.Issued)
	percentage := int64(usualPercentage)
	if given, err := strconv.ParseInt(e.Labels[LabelRenewAfterValidityPercentage], 10, 64); err == nil && given > 0 && given <= 100 {
		percentage = given
	}
	// In whole seconds, of which a validity has too many for nanoseconds times 100.
	at := e.Issued.Add(time.Duration(int64(validity/time.Second)*percentage/100) * time.Second)
	if validity <= margin {
		return at, true
	}
	early := e.Until.Add(-margin)
	if half := e.Issued.Add(validity / 2); half.After(early) {
		early = half
	}
	if early.Before(at) {
		at = early
	}
	return at, true
}

// Due says whether an edition has to be renewed now.
func (e *Edition) Due(now time.Time) bool {
	at, ever := e.RenewAt()
	return ever && now.After(at)
}
