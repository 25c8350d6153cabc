// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// edit is what a person wants of an object: a change, or its deletion if there is no change. A change returns false
// if it has nothing to do.
type edit struct {
	what, name string
	kind       trust.ObjectKind
	secret     func(*corev1.Secret) bool
	configMap  func(*corev1.ConfigMap) bool
	// request is set for a request for a rotation or its end.
	request *trust.Request
	domain  string
	// happens is counted when the edit is made, unless it is empty.
	happens happening
}

// people makes an edit, which the guard may refuse. It reports whether there was one to make.
func (w *world) people() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	makers := []func(*trust.Domain) *edit{
		w.asksToRotate, w.asksAsLibraryGo, w.asksToAbort, w.asksToAbort, w.asksForLeaf, w.deletesLeaf, w.deletesBundle, w.deletesSigner,
		w.restores, w.restores, w.stripsAnnotations, w.addsAnchor, w.removesAnchor, w.backdatesPublication, w.bringsOwnNext,
		w.replacesActive, w.renewsActive, w.putsForeignLeaf, w.signsByHand, w.losesRecord, w.writesGarbage, w.saysCompromised,
	}
	e := makers[w.dice.roll(len(makers), "edit")](d)
	return e != nil && w.apply(e)
}

// apply makes an edit if the guard admits it. The guard uses the latest observations, which may be a lease old. A
// person who writes a leaf by hand therefore has the members probed first.
func (w *world) apply(e *edit) bool {
	if e.kind == trust.SecretKind && e.secret != nil {
		for _, d := range w.domains().Domains {
			w.probeAll(d)
		}
	}
	after, store := w.prepare(e)
	if after == nil {
		return false
	}
	if reason := w.guard(after); reason != "" && !w.unguarded {
		w.counts.refusedEdits++
		w.say("somebody %s: refused, %s", e.what, reason)
		return true
	}
	if object := string(e.kind) + "/" + e.name; w.topology.startsPods() && w.repeats(object, hashes(after)[object]) {
		return false
	}
	w.counts.edits++
	w.say("somebody %s", e.what)
	if e.happens != "" {
		w.counts.event(e.happens)
	}
	store()
	w.objectWritten()
	return true
}

// prepare returns the state after an edit and a function that stores it, nil if there is nothing to do.
func (w *world) prepare(e *edit) (*inventory.Sources, func()) {
	now := w.clock.now()
	if e.kind == trust.RecordKind {
		return w.prepareRecord(e)
	}
	if e.kind == trust.SecretKind {
		live := w.api.secrets[e.name]
		if e.secret == nil {
			if live == nil {
				return nil, nil
			}
			return w.api.withSecret(w.api.latest(), e.name, nil), func() { w.api.deleteSecret(e.name) }
		}
		next := &corev1.Secret{ObjectMeta: consenting(), Type: corev1.SecretTypeTLS}
		if live != nil {
			next = live.DeepCopy()
		}
		next.Name = e.name
		if next.Data == nil {
			next.Data = map[string][]byte{}
		}
		if !e.secret(next) {
			return nil, nil
		}
		return w.api.withSecret(w.api.latest(), e.name, next), func() { w.api.putSecret(next, now) }
	}
	live := w.api.configMaps[e.name]
	if e.configMap == nil {
		if live == nil {
			return nil, nil
		}
		return w.api.withConfigMap(w.api.latest(), e.name, nil), func() { w.api.deleteConfigMap(e.name) }
	}
	next := &corev1.ConfigMap{ObjectMeta: consenting()}
	if live != nil {
		next = live.DeepCopy()
	}
	next.Name = e.name
	if !e.configMap(next) {
		return nil, nil
	}
	return w.api.withConfigMap(w.api.latest(), e.name, next), func() { w.api.putConfigMap(next, now) }
}

// guard is the webhook: it returns the invariant that an edit would break, "" for none.
func (w *world) guard(after *inventory.Sources) string {
	edited := inventory.Build(shown(after))
	if edited == nil {
		return "the configuration would be gone"
	}
	for _, d := range w.domains().Domains {
		is := edited.Domain(d.Name)
		if is == nil {
			return "the domain would be gone"
		}
		if w.keepsFuture && d.Signer.Present && !is.Signer.Present && fromTheFuture(trust.Assess(w.seen(d), w.clock.now())) {
			return "the clock is in doubt"
		}
		if found := trust.Judge(w.seen(d), w.seen(is), w.clock.now()); len(found) > 0 {
			return string(found[0].Invariant) + ": " + found[0].Message
		}
	}
	return ""
}

// prepareRecord is prepare for a request, which is made only once, or for the deletion of a record.
func (w *world) prepareRecord(e *edit) (*inventory.Sources, func()) {
	if e.request == nil {
		return withRecord(w.api.latest(), e.name, nil), func() { w.api.deleteRecord(e.name) }
	}
	made, err := record.OfRequest(namespace, e.domain, e.request, "somebody")
	if err != nil || w.api.records[made.Name] != nil {
		return nil, nil
	}
	return withRecord(w.api.latest(), made.Name, made), func() {
		w.counts.event(asked)
		if e.request.Compromised {
			w.counts.event(compromised)
		}
		w.api.putRecord(made, w.clock.now())
	}
}

func (w *world) asks(d *trust.Domain, kind trust.RequestKind, secret string) *edit {
	r := &trust.Request{Kind: kind, Secret: secret, Reason: "story"}
	return &edit{what: fmt.Sprintf("asks to %s %s", strings.ToLower(string(kind)), secret), kind: trust.RecordKind, domain: d.Name, request: r}
}

func (w *world) asksToRotate(d *trust.Domain) *edit {
	return w.asks(d, trust.RequestRotate, d.Signer.Name)
}

// saysCompromised asks for the rotation of a compromised key.
func (w *world) saysCompromised(d *trust.Domain) *edit {
	e := w.asksToRotate(d)
	e.request.Compromised = true
	e.what = "says that the key of " + d.Signer.Name + " is compromised"
	return e
}

func (w *world) asksAsLibraryGo(d *trust.Domain) *edit {
	return &edit{
		what: "deletes the not-after annotation of " + d.Signer.Name, kind: trust.SecretKind, name: d.Signer.Name,
		secret: func(s *corev1.Secret) bool {
			_, there := s.Annotations[trust.AnnotationNotAfter]
			delete(s.Annotations, trust.AnnotationNotAfter)
			return there
		},
	}
}

func (w *world) asksToAbort(d *trust.Domain) *edit {
	return w.asks(d, trust.RequestAbort, d.Signer.Name)
}

func (w *world) leafName(d *trust.Domain) string {
	if len(d.Leaves) == 0 {
		return ""
	}
	return d.Leaves[w.dice.roll(len(d.Leaves), "leaf")].Name
}

func (w *world) asksForLeaf(d *trust.Domain) *edit {
	return w.asks(d, trust.RequestRotate, w.leafName(d))
}

func (w *world) deletesLeaf(d *trust.Domain) *edit {
	name := w.leafName(d)
	return &edit{what: "deletes the leaf " + name, kind: trust.SecretKind, name: name}
}

func (w *world) deletesBundle(d *trust.Domain) *edit {
	return &edit{what: "deletes the bundle " + d.Bundle.Name, kind: trust.ConfigMapKind, name: d.Bundle.Name}
}

func (w *world) deletesSigner(d *trust.Domain) *edit {
	return &edit{what: "deletes the signer " + d.Signer.Name, kind: trust.SecretKind, name: d.Signer.Name}
}

// restores restores an older version of an object.
func (w *world) restores(d *trust.Domain) *edit {
	names := []string{d.Bundle.Name, d.Signer.Name}
	for i := range d.Leaves {
		names = append(names, d.Leaves[i].Name)
	}
	for _, to := range w.deliveries() {
		names = append(names, to.secret)
	}
	name := one(w.dice, "object", names)
	versions := w.api.backup[name]
	if len(versions) == 0 {
		return nil
	}
	e := &edit{what: "restores an older version of " + name, name: name}
	w.counts.event(restoredOne)
	switch old := one(w.dice, "version", versions).(type) {
	case *corev1.Secret:
		e.kind = trust.SecretKind
		e.secret = func(s *corev1.Secret) bool {
			s.Data, s.Annotations, s.Labels = maps.Clone(old.Data), maps.Clone(old.Annotations), maps.Clone(old.Labels)
			return true
		}
	case *corev1.ConfigMap:
		e.kind = trust.ConfigMapKind
		e.configMap = func(cm *corev1.ConfigMap) bool {
			cm.Data, cm.Annotations, cm.Labels = maps.Clone(old.Data), maps.Clone(old.Annotations), maps.Clone(old.Labels)
			return true
		}
	}
	return e
}

func (w *world) stripsAnnotations(d *trust.Domain) *edit {
	if in(w.dice, 2, "of the bundle") {
		return &edit{
			what: "removes all annotations but the consent of " + d.Bundle.Name, kind: trust.ConfigMapKind, name: d.Bundle.Name,
			configMap: func(cm *corev1.ConfigMap) bool {
				there := len(cm.Annotations) > 1
				cm.Annotations = consenting().Annotations
				return there
			},
		}
	}
	names := []string{d.Signer.Name}
	for i := range d.Leaves {
		names = append(names, d.Leaves[i].Name)
	}
	name := one(w.dice, "object", names)
	return &edit{
		what: "removes all annotations but the consent of " + name, kind: trust.SecretKind, name: name,
		secret: func(s *corev1.Secret) bool {
			there := len(s.Annotations) > 1
			s.Annotations = consenting().Annotations
			return there
		},
	}
}

// backdatesPublication claims that the anchors were published long ago.
func (w *world) backdatesPublication(d *trust.Domain) *edit {
	return &edit{
		what: "backdates the publication of " + d.Bundle.Name, kind: trust.ConfigMapKind, name: d.Bundle.Name,
		configMap: func(cm *corev1.ConfigMap) bool {
			text := cm.Annotations[trust.AnnotationPublished]
			var earlier []byte
			for entry := range strings.FieldsSeq(text) {
				fingerprint, _, _ := strings.Cut(entry, "=")
				earlier = fmt.Appendf(earlier, "%s=2026-01-01T00:00:00Z ", fingerprint)
			}
			if len(earlier) == 0 {
				return false
			}
			cm.Annotations[trust.AnnotationPublished] = string(earlier)
			return true
		},
	}
}

// foreignName is the name of CAs that people publish beside those of a domain.
const foreignName = "somebody's CA"

func (w *world) addsAnchor(d *trust.Domain) *edit {
	ca, err := w.authority(foreignName)
	if err != nil || !d.Bundle.Present || len(d.Bundle.Anchors) > 3 {
		return nil
	}
	return w.writesBundle(d, "adds a foreign anchor to "+d.Bundle.Name, append(slices.Clone(d.Bundle.Anchors), ca.Certificate))
}

func (w *world) removesAnchor(d *trust.Domain) *edit {
	if len(d.Bundle.Anchors) == 0 {
		return nil
	}
	at := w.dice.roll(len(d.Bundle.Anchors), "anchor")
	return w.writesBundle(d, fmt.Sprintf("removes the anchor %s from %s", d.Bundle.Anchors[at].Subject, d.Bundle.Name),
		slices.Delete(slices.Clone(d.Bundle.Anchors), at, at+1))
}

func (w *world) writesBundle(d *trust.Domain, what string, anchors []*pki.Certificate) *edit {
	return &edit{
		what: what, kind: trust.ConfigMapKind, name: d.Bundle.Name,
		configMap: func(cm *corev1.ConfigMap) bool {
			cm.Data = maps.Clone(cm.Data)
			if cm.Data == nil {
				cm.Data = map[string]string{}
			}
			cm.Data[inventory.BundleKey] = string(pki.EncodeCertificates(anchors...))
			return true
		},
	}
}

// losesRecord deletes the evidence of a member. If that member has several processes, one of them may stay unknown
// until it reports again, a limit of that evidence (docs/protocol.md).
func (w *world) losesRecord(*trust.Domain) *edit {
	var names []string
	for name, r := range w.api.latest().Records {
		if r.Said != nil && r.Said.Evidence != nil && len(w.processesOf(r.Said.Evidence.Member)) == 1 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	name := one(w.dice, "record", names)
	return &edit{what: "deletes the record " + name, kind: trust.RecordKind, name: name}
}
