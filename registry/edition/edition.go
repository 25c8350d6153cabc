// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Data keys of certificates, in the order of lookup. An authority has its own certificate under ca.crt; a leaf has
// its signer's.
const (
	keyCertificate = "tls.crt"
	keyCA          = "ca.crt"
	keyCAKey       = "ca.key"
	suffixCert     = ".crt"
)

// Edition is the relevant part of one Secret of a name. Of the data it has only the checksum.
type Edition struct {
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	Created         time.Time
	// Issued and Until bound the validity of the data, zero if unknown.
	Issued, Until time.Time
	// Authority means that it is a CA.
	Authority bool
	// Checksum is DataChecksum of the data.
	Checksum string
	// Configuration is the RotationConfiguration that it consents to, "" for none.
	Configuration string
}

// Of returns the edition that a Secret is.
func Of(secret *corev1.Secret) *Edition {
	e := Labelled(&secret.ObjectMeta)
	e.Checksum = DataChecksum(secret.Data)
	e.Authority = len(secret.Data[keyCA]) > 0 && (len(secret.Data[keyCAKey]) > 0 || secret.Labels[LabelKeyOutside] == True)
	if certificate := Certificate(secret); certificate != nil {
		e.Issued, e.Until = certificate.NotBefore, certificate.NotAfter
	}
	return e
}

// Labelled returns the part of an edition that the metadata of its Secret say.
func Labelled(meta *metav1.ObjectMeta) *Edition {
	e := &Edition{
		NamespacedName: types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name},
		UID:            meta.UID, ResourceVersion: meta.ResourceVersion,
		Labels: meta.Labels, Created: meta.CreationTimestamp.Time,
		Configuration: meta.Annotations[trust.AnnotationConfiguration],
	}
	e.Issued, _ = parseUnix(meta.Labels[LabelIssuedAtTime])
	e.Until, _ = parseUnix(meta.Labels[LabelValidUntilTime])
	return e
}

// Certificate returns the certificate that a Secret is for, of a leaf, a control plane or an authority; nil if there
// is none or it is unreadable. The ca.crt of a Secret that is not an authority belongs to its signer.
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

func (e *Edition) name() string { return e.Labels[LabelName] }

// about returns the name that an edition belongs to; a bundle belongs to the name that it is for.
func (e *Edition) about() string {
	if of := e.Labels[LabelBundleFor]; of != "" {
		return of
	}
	return e.name()
}

func (e *Edition) number() int64 {
	n, err := strconv.ParseInt(e.Labels[LabelGeneration], 10, 64)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// Expired reports whether its validity has ended; unknown validity has not.
func (e *Edition) Expired(now time.Time) bool { return !e.Until.IsZero() && !now.Before(e.Until) }

// Rules of renewal.
const (
	usualPercentage = 80
	// Margin is the time before the end at which everything with a longer validity is renewed.
	Margin = 10 * 24 * time.Hour
)

// Percentage returns the percentage of its validity after which an edition is renewed, between 1 and 100.
func (e *Edition) Percentage() int32 {
	given, err := strconv.ParseInt(e.Labels[LabelRenewAfterValidityPercentage], 10, 32)
	if err != nil || given < 1 || given > 100 {
		return usualPercentage
	}
	return int32(given)
}

// RenewAt returns when an edition is due for renewal, and whether it ever is. That is at a percentage of its validity
// (80 by default) or ten days before its end, whichever comes first. A validity of ten days or less uses the
// percentage alone. The ten days never apply before half of the validity, or the new edition would be due at once.
func (e *Edition) RenewAt() (time.Time, bool) {
	if e.Issued.IsZero() || e.Until.IsZero() || !e.Until.After(e.Issued) {
		return time.Time{}, false
	}
	validity := e.Until.Sub(e.Issued)
	// Count whole seconds: in nanoseconds, a validity times 100 may overflow.
	at := e.Issued.Add(time.Duration(int64(validity/time.Second)*int64(e.Percentage())/100) * time.Second)
	if validity <= Margin {
		return at, true
	}
	early := e.Until.Add(-Margin)
	if half := e.Issued.Add(validity / 2); half.After(early) {
		early = half
	}
	if early.Before(at) {
		at = early
	}
	return at, true
}

// Due reports whether an edition must be renewed now.
func (e *Edition) Due(now time.Time) bool {
	at, ever := e.RenewAt()
	return ever && now.After(at)
}
