// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"github.com/google/uuid"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/registry/trust"
)

// LabelRole is on every virtual object: signer, leaf or bundle.
const LabelRole = "certrotation.dev/role"

// Values of LabelRole.
const (
	LabelRoleSigner = "signer"
	LabelRoleLeaf   = "leaf"
	LabelRoleBundle = "bundle"
)

// Resources, by the names that UIDs are derived from and that errors use.
const (
	ResourceCertificates = "certificaterotations"
	ResourceBundles      = "bundlestatuses"
)

// metadata returns the metadata of the virtual object of a source. It has no owner references: a virtual object is
// never garbage collected.
func (r *renderer) metadata(source *trust.Object, resource, role string) metav1.ObjectMeta {
	created := source.Created
	if created.IsZero() {
		created = r.Configured
	}
	meta := metav1.ObjectMeta{
		Namespace:         r.domain.Namespace,
		Name:              source.Name,
		UID:               virtualUID(r.domain.Namespace, source, resource),
		CreationTimestamp: toTime(created),
		Labels:            map[string]string{LabelRole: role},
	}
	// A domain's name has up to 253 characters. One that is no label value can still be selected by field.
	if len(validation.IsValidLabelValue(r.domain.Name)) == 0 {
		meta.Labels[trust.LabelTrustDomain] = r.domain.Name
	}
	return meta
}

// virtualUID is stable across replicas and restarts. It is never the source's own UID, under which the garbage
// collector would know two objects. A source that is deleted and created again gives a new one.
func virtualUID(namespace string, source *trust.Object, resource string) types.UID {
	identity := source.UID
	if identity == "" {
		identity = namespace + "/" + source.Name
	}
	space := uuid.NewSHA1(uuid.NameSpaceDNS, []byte("certrotation.dev"))
	return types.UID(uuid.NewSHA1(space, []byte(identity+"/"+resource)).String())
}

// toTime drops what JSON drops, so that a served object equals the same object rendered again.
func toTime(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Truncate(time.Second).UTC())
}

func toTimePointer(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	out := toTime(t)
	return &out
}
