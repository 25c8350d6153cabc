// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// A trust domain of editions (TrustDomain.Editions) has the same model as any other. Only its objects are found
// otherwise: by their labels, and several Secrets make up one.
//
//	Signer  active, next, previous   the authority's editions, in their order (settleSlots)
//	Bundle  anchors                  the newest bundle
//	Leaf    NAME                     its newest edition; each former one is an unnamed leaf until it is deleted
//
// The model calls them by the name of their configuration.

// authoritySlot is where an edition of an authority has its pair.
var authoritySlot = Slot{Cert: corev1.ServiceAccountRootCAKey, Key: "ca.key"}

// editionKey identifies the editions of a name. A bundle has the name of its own configuration.
type editionKey struct{ identity, name string }

// editionOf returns the edition that a Secret is, nil if it is none. It reads only the metadata.
func editionOf(secret *corev1.Secret) *edition.Edition {
	if secret.Labels[edition.LabelManagedBy] != edition.ManagedBy {
		return nil
	}
	e := edition.Labelled(&secret.ObjectMeta)
	e.Labels = maps.Clone(e.Labels)
	return e
}

func editionKeyOf(labels map[string]string) editionKey {
	return editionKey{identity: labels[edition.LabelManagerIdentity], name: labels[edition.LabelName]}
}

// parseEdition reads the authority or the bundle that an edition of another type is, if it consents.
func parseEdition(out *OtherSecret, secret *corev1.Secret, certs *pki.Cache) {
	out.Edition = editionOf(secret)
	switch {
	case out.Edition == nil || !consents(&out.ObjectMeta):
	case secret.Labels[edition.LabelKeyOutside] == edition.True:
		chain, err := certs.Chain(secret.Data[authoritySlot.Cert])
		out.Authority = Pair{Certificates: chain}
		if err != nil {
			out.Authority = Pair{Fault: unparsable(authoritySlot.Cert, err)}
		}
	case len(secret.Data[authoritySlot.Key]) > 0:
		out.Authority = authoritySlot.check(secret.Data, certs)
	case secret.Labels[edition.LabelBundleFor] != "":
		out.Bundle = &Bundle{}
		out.Bundle.Anchors, out.Bundle.Fault = parseAnchors(edition.BundleKey, secret.Data[edition.BundleKey], certs)
	}
}

// identitiesOf returns the identities of the domains of editions, each once, ordered.
func identitiesOf(cfg *configv1alpha1.RotationConfigurationSpec) []string {
	var out []string
	for i := range cfg.TrustDomains {
		if editions := cfg.TrustDomains[i].Editions; editions != nil {
			out = append(out, editions.Identity)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// editions returns the editions of a name that consent to the configuration, oldest first, and whether there are
// others. Those that another claim has are left out.
func (b *builder) editions(p *part, key editionKey) (consenting []*edition.Edition, others bool) {
	if b.byName == nil {
		b.byName = b.sources.editions()
	}
	for _, e := range b.byName[key] {
		claim, claimed := b.claims[objectKey{kind: trust.SecretKind, name: e.Name}]
		switch {
		case claimed && claim.Configuration != p.configuration:
		case e.Configuration == p.configuration:
			consenting = append(consenting, e)
		default:
			others = true
		}
	}
	return consenting, others
}

// editions returns all editions by name, oldest first.
func (s *Sources) editions() map[editionKey][]*edition.Edition {
	out := map[editionKey][]*edition.Edition{}
	add := func(e *edition.Edition) {
		if e != nil {
			key := editionKeyOf(e.Labels)
			out[key] = append(out[key], e)
		}
	}
	for _, secret := range s.Secrets {
		add(secret.Edition)
	}
	for _, other := range s.Others {
		add(other.Edition)
	}
	for _, of := range out {
		edition.Order(of)
	}
	return out
}

// domainOfEditions reads signer, bundle and leaves of a domain of editions. The slots are not settled.
func (b *builder) domainOfEditions(p *part, cfg *configv1alpha1.TrustDomain, out *trust.Domain) {
	identity := cfg.Editions.Identity
	out.WrittenBy = identity
	out.Signer = trust.Signer{Object: trust.Object{Name: cfg.Signer.SecretName}}
	out.Bundle = trust.Bundle{Object: trust.Object{Name: cfg.Bundle.ConfigMapName}, InSecret: true}
	for _, role := range []struct {
		name string
		kind ClaimKind
		read func(of []*edition.Edition)
	}{
		{cfg.Signer.SecretName, ClaimSigner, func(of []*edition.Edition) { b.readAuthorities(&out.Signer, of) }},
		{cfg.Bundle.ConfigMapName, ClaimBundle, func(of []*edition.Edition) { b.readBundles(&out.Bundle, of) }},
	} {
		of, others := b.editions(p, editionKey{identity, role.name})
		if others {
			out.Problems = append(out.Problems, notConsenting(role.name, p.configuration))
		}
		p.claimEditions(of, Claim{Domain: cfg.Name, Kind: role.kind})
		if len(of) > 0 {
			role.read(of)
		}
	}
}

// notConsenting is the problem of editions without consent. It stops nothing: those who load them have no evidence.
func notConsenting(name, configuration string) trust.Problem {
	return *problemOf(trust.SecretKind, name, trust.ReasonNotAdopted, fmt.Sprintf(
		"editions of it do not consent to RotationConfiguration/%s, so they do not count: have their controller annotate them with %s=%s",
		configuration, trust.AnnotationConfiguration, configuration))
}

// claimEditions claims the Secrets of a name. It is possible that one has the name itself.
func (p *part) claimEditions(of []*edition.Edition, claim Claim) {
	claim.Configuration, claim.Edition = p.configuration, true
	for _, e := range of {
		p.claims[objectKey{kind: trust.SecretKind, name: e.Name}] = claim
	}
}

// claimedEditions are the claims by name that an edition gets which does not exist yet.
func claimedEditions(cfg *configv1alpha1.RotationConfigurationSpec, configuration string) map[editionKey]Claim {
	out := map[editionKey]Claim{}
	for i := range cfg.TrustDomains {
		d := &cfg.TrustDomains[i]
		if d.Editions == nil {
			continue
		}
		claim := Claim{Domain: d.Name, Kind: ClaimSigner, Configuration: configuration, Edition: true}
		out[editionKey{d.Editions.Identity, d.Signer.SecretName}] = claim
		claim.Kind = ClaimBundle
		out[editionKey{d.Editions.Identity, d.Bundle.ConfigMapName}] = claim
		claim.Kind = ClaimLeaf
		for k := range d.Leaves {
			out[editionKey{d.Editions.Identity, d.Leaves[k].SecretName}] = claim
		}
	}
	return out
}

// ClaimEdition is Claim for a Secret with this metadata. If no configuration claims its name, its labels may say that it
// is an edition of a trust domain.
func (n *Namespace) ClaimEdition(kind trust.ObjectKind, name string, meta *metav1.ObjectMeta) (Claim, bool) {
	if claim, ok := n.Claim(kind, name); ok || kind != trust.SecretKind || meta.Labels[edition.LabelManagedBy] != edition.ManagedBy {
		return claim, ok
	}
	claim, ok := n.editions[editionKeyOf(meta.Labels)]
	return claim, ok
}

// readAuthorities reads the editions of an authority, oldest first: the slots are its previous ones until settleSlots.
// The first fault, newest first, is the problem.
func (b *builder) readAuthorities(out *trust.Signer, of []*edition.Edition) {
	newest := of[len(of)-1]
	out.Object = b.editedObject(out.Name, newest)
	out.Policy = policyOfEdition(newest)
	for _, e := range slices.Backward(of) {
		pair := b.authorityOf(e)
		ca := one(first(pair.Certificates))
		out.Previous = append(out.Previous, ca...)
		switch {
		case out.Problem != nil:
		case pair.Empty():
			out.Problem = problemOf(trust.SecretKind, e.Name, trust.ReasonUnparsable, fmt.Sprintf("it has no authority under %s; %s", authoritySlot.Cert, anotherEdition))
		default:
			out.Problem = slotProblem(e.Name, trust.SlotActive, pair, ca, anotherEdition)
		}
	}
}

const anotherEdition = "have its controller make another edition"

// authorityOf returns the pair of an authority. One that another authority has signed has it where a leaf has it.
func (b *builder) authorityOf(e *edition.Edition) *Pair {
	if secret := b.sources.Secrets[e.Name]; secret != nil {
		return &secret.Active
	}
	return &b.sources.Others[e.Name].Authority
}

// settleSlots derives the slots of an authority, whose editions are in Previous, newest first. The newest is next while a
// leaf exists whose newest edition another one has signed. So nobody has to write that it was promoted. Active is then
// the newest of the others that has signed such a leaf.
func settleSlots(d *trust.Domain) {
	editions := d.Signer.Previous
	d.Signer.Previous = nil
	if len(editions) == 0 {
		return
	}
	if len(editions) > 1 && !reissued(d, editions[0]) {
		d.Signer.Next, editions = editions[0], editions[1:]
	}
	active := max(0, slices.IndexFunc(editions, func(ca *pki.Certificate) bool { return len(signedBy(d, ca)) > 0 }))
	d.Signer.Active, d.Signer.Previous = editions[active], slices.Delete(slices.Clone(editions), active, active+1)
}

// reissued reports whether a CA has signed the newest editions of all leaves that exist, and of at least one.
func reissued(d *trust.Domain, ca *pki.Certificate) bool {
	existing := 0
	for i := range d.Leaves {
		if l := &d.Leaves[i]; !l.Unnamed && l.Present {
			existing++
		}
	}
	return existing > 0 && len(signedBy(d, ca)) == existing
}

// signedBy returns the leaves whose newest edition a CA has signed.
func signedBy(d *trust.Domain, ca *pki.Certificate) []string {
	var out []string
	for i := range d.Leaves {
		if l := &d.Leaves[i]; !l.Unnamed && l.Certificate != nil && l.Certificate.SignedBy(ca) {
			out = append(out, l.Name)
		}
	}
	return out
}

// readBundles reads the newest edition of a bundle. Its anchors were published when the first edition with them was made,
// of those that follow each other up to now.
func (b *builder) readBundles(out *trust.Bundle, of []*edition.Edition) {
	newest := of[len(of)-1]
	out.Object = b.editedObject(out.Name, newest)
	content := b.bundleOf(newest)
	if content == nil {
		out.Problem = problemOf(trust.SecretKind, newest.Name, trust.ReasonUnparsable,
			fmt.Sprintf("it has no key %s; %s", edition.BundleKey, anotherEdition))
		return
	}
	out.Anchors, out.Repeats, out.Unread = content.Anchors.Certificates, content.Anchors.Repeats, content.Anchors.Unread
	if fault := content.Fault; fault != nil {
		out.Problem = problemOf(trust.SecretKind, newest.Name, fault.Reason, fault.Text+"; "+anotherEdition)
		return
	}
	published := map[pki.Fingerprint]time.Time{}
	for _, ca := range out.Anchors {
		for _, e := range slices.Backward(of) {
			if former := b.bundleOf(e); former == nil || !slices.ContainsFunc(former.Anchors.Certificates, ca.Equal) {
				break
			}
			published[ca.Fingerprint] = e.Created
		}
	}
	maps.Copy(out.Annotations, trust.MetadataOfBundle(b.sources.Namespace, out.Anchors, published, newest.Created).Annotations)
}

func (b *builder) bundleOf(e *edition.Edition) *Bundle {
	if other := b.sources.Others[e.Name]; other != nil {
		return other.Bundle
	}
	return nil
}

// leafOfEditions reads the newest edition of a leaf. The anchors under its ca.crt are those that its signer had: it is no
// copy of the bundle, and no evidence counts it as one.
func (b *builder) leafOfEditions(p *part, domain *configv1alpha1.TrustDomain, cfg *configv1alpha1.Leaf) (*trust.Leaf, error) {
	name := cfg.SecretName
	out := &trust.Leaf{Object: trust.Object{Name: name}, Template: name}
	profile, err := profileFor(cfg, nil)
	// Its controller decides the key and the validity.
	profile.Key, profile.Validity = "", 0
	of, _ := b.editions(p, editionKey{domain.Editions.Identity, name})
	if len(of) == 0 {
		out.Policy.Profile = profile
		return out, err
	}
	newest := of[len(of)-1]
	p.claimEditions(of[len(of)-1:], Claim{Domain: domain.Name, Kind: ClaimLeaf})
	out.Object, out.Policy = b.editedObject(name, newest), policyOfEdition(newest)
	out.Policy.Profile = profile
	secret := b.sources.Secrets[newest.Name]
	if secret == nil {
		out.Problem = problemOf(trust.SecretKind, newest.Name, trust.ReasonWrongType,
			"it is not of type kubernetes.io/tls, so its certificate is not read; "+anotherEdition)
		return out, err
	}
	readLeaf(out, secret)
	out.Anchors, out.AnchorsRepeat, out.UnreadAnchors = nil, false, nil
	out.Annotations = with(maps.Clone(out.Annotations), trust.AnnotationIssuedAt, newest.Created.UTC().Format(time.RFC3339))
	return out, err
}

// editedObject is the newest edition as the object of that name. It is immutable as all are: another edition replaces it.
func (b *builder) editedObject(name string, newest *edition.Edition) trust.Object {
	var out trust.Object
	if secret := b.sources.Secrets[newest.Name]; secret != nil {
		out = secret.object()
	} else {
		out = b.sources.Others[newest.Name].object()
	}
	out.Name, out.Immutable = name, false
	out.Annotations = maps.Clone(out.Annotations)
	return out
}

// policyOfEdition is when its controller renews an edition (edition.RenewAt).
func policyOfEdition(e *edition.Edition) trust.Policy {
	return trust.Policy{RenewAtPercent: e.Percentage(), RenewBefore: edition.Margin}
}
