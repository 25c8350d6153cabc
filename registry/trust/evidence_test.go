// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// published returns a world whose bundle holds active and next, which no member has loaded yet.
func published(t *testing.T) *world {
	w := bootstrapped(t)
	publishedNext(w)
	return w
}

func TestTrustByObservation(t *testing.T) {
	tests := []struct {
		name   string
		party  string
		set    func(w *world, m *Member, o *Observation)
		proven bool
		reason Reason
		says   string
	}{
		{name: "probe sees the subject", party: "server", proven: true,
			set: func(w *world, _ *Member, o *Observation) { o.TrustedSubjects = []string{w.d.Signer.Next.SubjectHash} }},
		{name: "probe sees only the old subject", party: "server", reason: ReasonAnchorNotLoaded, says: "restart",
			set: func(w *world, _ *Member, o *Observation) { o.TrustedSubjects = []string{w.d.Signer.Active.SubjectHash} }},
		{name: "a subject that two keys share proves nothing", party: "server", reason: ReasonAnchorNotLoaded, says: "share",
			set: func(w *world, _ *Member, o *Observation) {
				w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, twin(w, w.d.Signer.Next))
				o.TrustedSubjects = []string{w.d.Signer.Next.SubjectHash}
			}},
		{name: "acknowledged fingerprint", party: "client-a", proven: true,
			set: func(w *world, _ *Member, o *Observation) { o.Trusts = []pki.Fingerprint{w.d.Signer.Next.Fingerprint} }},
		{name: "acknowledged fingerprint of a twin proves the twin only", party: "client-a", reason: ReasonAnchorNotLoaded, says: "acknowledge",
			set: func(w *world, _ *Member, o *Observation) {
				o.Trusts = []pki.Fingerprint{twin(w, w.d.Signer.Next).Fingerprint}
			}},
		{name: "acknowledged nothing", party: "client-a", reason: ReasonAnchorNotLoaded, says: "acknowledge",
			set: func(*world, *Member, *Observation) {}},
		{name: "never acknowledged", party: "client-a", reason: ReasonNotObserved, says: "never acknowledged",
			set: func(_ *world, m *Member, _ *Observation) { m.Observations = nil }},
		{name: "never probed", party: "server", reason: ReasonNotObserved, says: "not been observed",
			set: func(_ *world, m *Member, _ *Observation) { m.Observations = nil }},
		{name: "restarted since", party: "client-a", reason: ReasonNotObserved, says: "restarted",
			set: func(w *world, m *Member, o *Observation) {
				o.Trusts = []pki.Fingerprint{w.d.Signer.Next.Fingerprint}
				m.RestartedAt = w.now.Add(time.Second)
			}},
		{name: "restarted before it was observed", party: "client-a", proven: true,
			set: func(w *world, m *Member, o *Observation) {
				o.Trusts = []pki.Fingerprint{w.d.Signer.Next.Fingerprint}
				m.RestartedAt = w.now
			}},
		{name: "the last attempt failed", party: "server", reason: ReasonNotObserved, says: "connection refused",
			set: func(w *world, _ *Member, o *Observation) {
				o.TrustedSubjects = []string{w.d.Signer.Next.SubjectHash}
				o.Failure = "connection refused"
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := published(t)
			m := w.member(tt.party)
			m.Observations = []Observation{w.observation(w.party(tt.party).Kind, m)}
			tt.set(w, m, &m.Observations[0])
			a := decide(&w.d, w.now)
			v := a.trusts(w.party(tt.party), m, w.d.Signer.Next)
			if v.proven != tt.proven || v.reason != tt.reason || !strings.Contains(v.message, tt.says) {
				t.Errorf("got %+v, want proven %t, reason %q, %q", v, tt.proven, tt.reason, tt.says)
			}
		})
	}
}

func TestSubjectOfOneKeyIsNotAmbiguous(t *testing.T) {
	w := published(t)
	m := w.member("server")
	m.Observations = []Observation{w.observation(TLSProbe, m)}
	m.Observations[0].TrustedSubjects = []string{w.d.Signer.Next.SubjectHash}
	w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, resigned(w, w.d.Signer.Next))
	a := decide(&w.d, w.now)
	if v := a.trusts(w.party("server"), m, w.d.Signer.Next); !v.proven {
		t.Errorf("a CA and its renewal with the same key are one key to verifiers: %+v", v)
	}
}

func TestTrustByGracePeriod(t *testing.T) {
	const grace = time.Hour
	tests := []struct {
		name      string
		published func(f pki.Fingerprint) string
		after     time.Duration
		proven    bool
		until     bool
		reason    Reason
	}{
		{"before", recorded, grace - 1, false, true, ReasonGracePeriod},
		{"at", recorded, grace, true, false, ""},
		{"after", recorded, grace + 1, true, false, ""},
		{"annotation missing", func(pki.Fingerprint) string { return "" }, 2 * grace, false, false, ReasonAnchorNotLoaded},
		{"annotation garbled", func(f pki.Fingerprint) string { return string(f) + "=yesterday =" }, 2 * grace, false, false, ReasonAnchorNotLoaded},
		{"annotation of others", func(pki.Fingerprint) string { return "ab=2020-01-01T00:00:00Z" }, 2 * grace, false, false, ReasonAnchorNotLoaded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := published(t)
			next := w.d.Signer.Next
			p := &Party{Name: "p", Kind: GracePeriod, Grace: grace, Members: []Member{{Name: "m"}}}
			w.d.Bundle.Annotations[AnnotationPublished] = tt.published(next.Fingerprint)
			v := decide(&w.d, recordedAt.Add(tt.after)).trusts(p, &p.Members[0], next)
			if v.proven != tt.proven || v.reason != tt.reason {
				t.Errorf("got %+v", v)
			}
			if tt.until != !v.until.IsZero() || (tt.until && !v.until.Equal(recordedAt.Add(grace))) {
				t.Errorf("until %s", v.until)
			}
		})
	}
	t.Run("recorded as published before it was made", func(t *testing.T) {
		w := published(t)
		next := w.d.Signer.Next
		made := next.NotBefore.Add(w.d.Signer.Policy.Profile.Backdate)
		p := &Party{Name: "p", Kind: GracePeriod, Grace: grace, Members: []Member{{Name: "m"}}}
		w.d.Bundle.Annotations[AnnotationPublished] = string(next.Fingerprint) + "=2020-01-01T00:00:00Z"
		if v := decide(&w.d, made.Add(grace-1)).trusts(p, &p.Members[0], next); v.proven || !v.until.Equal(made.Add(grace)) {
			t.Errorf("before its grace period could have ended: %+v", v)
		}
		if v := decide(&w.d, made.Add(grace)).trusts(p, &p.Members[0], next); !v.proven {
			t.Errorf("not proven at the end: %+v", v)
		}
	})
	t.Run("published but no longer in the bundle", func(t *testing.T) {
		w := published(t)
		next := w.d.Signer.Next
		w.d.Bundle.Anchors = w.d.Bundle.Anchors[:1]
		p := &Party{Name: "p", Kind: GracePeriod, Members: []Member{{Name: "m"}}}
		w.d.Bundle.Annotations[AnnotationPublished] = recorded(next.Fingerprint)
		if v := decide(&w.d, recordedAt.Add(grace)).trusts(p, &p.Members[0], next); v.proven {
			t.Error("proven")
		}
	})
}

// recordedAt is later than the NotBefore of all CAs of a new world.
var recordedAt = start.Add(time.Minute)

func recorded(f pki.Fingerprint) string { return string(f) + "=" + recordedAt.Format(time.RFC3339) }

func TestTrustByRenewal(t *testing.T) {
	tests := []struct {
		name   string
		holds  []string
		issue  []string
		proven bool
		reason Reason
	}{
		{"holds nothing", nil, nil, false, ReasonNotObserved},
		{"not renewed", []string{"client-a"}, nil, false, ReasonAnchorNotLoaded},
		{"one of two renewed", []string{"client-a", "client-b"}, []string{"client-a"}, false, ReasonAnchorNotLoaded},
		{"all renewed", []string{"client-a", "client-b"}, []string{"client-a", "client-b"}, true, ""},
		{"a leaf that is not of the domain", []string{"stranger"}, nil, false, ReasonAnchorNotLoaded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := published(t)
			for _, name := range tt.issue {
				w.perform(&Action{Kind: IssueLeaf, Object: name, Authority: w.d.Signer.Next.Fingerprint, Profile: w.leaf(name).Policy.Profile})
			}
			p := &Party{Name: "p", Kind: Renewed, Grace: time.Minute, Members: []Member{{Name: "m", Holds: tt.holds}}}
			v := decide(&w.d, w.now.Add(time.Minute)).trusts(p, &p.Members[0], w.d.Signer.Next)
			if v.proven != tt.proven || v.reason != tt.reason {
				t.Errorf("got %+v", v)
			}
		})
	}
}

func TestUnknownEvidenceKindProvesNothing(t *testing.T) {
	w := published(t)
	p := &Party{Name: "p", Kind: "hope", Members: []Member{{Name: "m"}}}
	if v := decide(&w.d, w.now).trusts(p, &p.Members[0], w.d.Signer.Next); v.proven || !strings.Contains(v.message, "hope") {
		t.Errorf("got %+v", v)
	}
}
