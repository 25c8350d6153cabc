// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// sum is a well-formed fingerprint of which only the number matters.
func sum(n int) pki.Fingerprint {
	return pki.Fingerprint(fmt.Sprintf("%064x", n))
}

func sample() *trust.Observation {
	return &trust.Observation{
		Trusts:          []pki.Fingerprint{sum(1), sum(2)},
		TrustedSubjects: []string{string(sum(3))},
		Presents:        []pki.Fingerprint{sum(4)},
		RecoveredUntil:  time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC),
		ObservedAt:      time.Date(2026, 5, 1, 12, 0, 0, 5, time.UTC),
		StartedAt:       time.Date(2026, 5, 1, 11, 0, 0, 0, time.UTC),
		Failure:         "dial tcp 10.0.0.1:2379: connection refused",
	}
}

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in, want *trust.Observation
	}{
		{name: "everything", in: sample(), want: sample()},
		{name: "nothing", in: &trust.Observation{}, want: &trust.Observation{}},
		{
			name: "lists are put in order",
			in:   &trust.Observation{Trusts: []pki.Fingerprint{sum(2), sum(1), sum(2)}},
			want: &trust.Observation{Trusts: []pki.Fingerprint{sum(1), sum(2)}},
		},
		{
			name: "times are UTC",
			in:   &trust.Observation{ObservedAt: time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3600))},
			want: &trust.Observation{ObservedAt: time.Date(2026, 5, 1, 11, 0, 0, 0, time.UTC)},
		},
		{
			name: "a long failure is cut between characters",
			in:   &trust.Observation{Failure: "x" + strings.Repeat("ü", evidence.MaxFailureBytes)},
			want: &trust.Observation{Failure: "x" + strings.Repeat("ü", (evidence.MaxFailureBytes-1)/2)},
		},
		{
			name: "bytes that are no text are dropped",
			in:   &trust.Observation{Failure: "a\xffb"},
			want: &trust.Observation{Failure: "ab"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data, labels := evidence.Encode("etcd", "servers", "node-1", tt.in)
			wantLabels := map[string]string{trust.LabelEvidence: "true", trust.LabelTrustDomain: "etcd"}
			if diff := cmp.Diff(wantLabels, labels); diff != "" {
				t.Errorf("Encode() labels (-want +got):\n%s", diff)
			}
			domain, party, member, got, err := evidence.Decode(data)
			if err != nil {
				t.Fatalf("Decode() failed: %v", err)
			}
			if domain != "etcd" || party != "servers" || member != "node-1" {
				t.Errorf("Decode() = %q, %q, %q", domain, party, member)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Decode() (-want +got):\n%s", diff)
			}
			if !evidence.Same(tt.in, got) {
				t.Error("what was read is not the same as what was written")
			}
		})
	}
}

func TestEncodeOmitsLabelThatIsNone(t *testing.T) {
	t.Parallel()
	_, labels := evidence.Encode("-", "p", "m", &trust.Observation{})
	if diff := cmp.Diff(map[string]string{trust.LabelEvidence: "true"}, labels); diff != "" {
		t.Errorf("Encode() labels (-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good, _ := evidence.Encode("etcd", "servers", "node-1", sample())
	tests := []struct {
		name       string
		key, value string
		wantText   string
	}{
		{name: "an unknown key", key: "extra", value: "x", wantText: `"extra"`},
		{name: "no domain", key: "trustDomain", wantText: "trustDomain: it has 0 bytes"},
		{name: "no party", key: "party", wantText: "party: it has 0 bytes"},
		{name: "a member of many bytes", key: "member", value: strings.Repeat("m", 254), wantText: "member: it has 254 bytes"},
		{name: "a short fingerprint", key: "trusts", value: "abcd\n", wantText: "trusts: line 1"},
		{name: "upper case", key: "trusts", value: strings.Repeat("AB", 32), wantText: "trusts: line 1"},
		{name: "an empty line", key: "presents", value: string(sum(1)) + "\n\n" + string(sum(2)), wantText: "presents: line 2"},
		{name: "spaces", key: "trustedSubjects", value: " " + string(sum(1)), wantText: "trustedSubjects: line 1"},
		{name: "too many", key: "trusts", value: strings.Repeat(string(sum(1))+"\n", evidence.MaxFingerprints+1), wantText: "the limit is"},
		{name: "no time", key: "observedAt", value: "yesterday", wantText: "observedAt"},
		{name: "a time beyond RFC 3339", key: "startedAt", value: "9999-12-31T23:59:59-14:00", wantText: "startedAt"},
		{name: "a long failure", key: "failure", value: strings.Repeat("x", evidence.MaxFailureBytes+1), wantText: "failure"},
		{name: "a failure that is no text", key: "failure", value: "\xff", wantText: "failure"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := maps.Clone(good)
			data[tt.key] = tt.value
			_, _, _, o, err := evidence.Decode(data)
			if !errors.Is(err, evidence.ErrMalformed) || o != nil {
				t.Fatalf("Decode() = %v, %v; want ErrMalformed and nothing", o, err)
			}
			if !strings.Contains(err.Error(), tt.wantText) {
				t.Errorf("Decode() failed with %q, want it to contain %q", err, tt.wantText)
			}
		})
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*trust.Observation)
		want bool
	}{
		{name: "nothing", edit: func(*trust.Observation) {}, want: true},
		{name: "the moment", edit: func(o *trust.Observation) { o.ObservedAt = o.ObservedAt.Add(time.Hour) }, want: true},
		{name: "the order", edit: func(o *trust.Observation) { o.Trusts = []pki.Fingerprint{sum(2), sum(1)} }, want: true},
		{name: "a restart", edit: func(o *trust.Observation) { o.StartedAt = o.StartedAt.Add(time.Hour) }},
		{name: "an anchor more", edit: func(o *trust.Observation) { o.Trusts = append(o.Trusts, sum(9)) }},
		{name: "a subject less", edit: func(o *trust.Observation) { o.TrustedSubjects = nil }},
		{name: "it was recovered", edit: func(o *trust.Observation) { o.RecoveredUntil = o.RecoveredUntil.Add(time.Hour) }},
		{name: "another leaf", edit: func(o *trust.Observation) { o.Presents = []pki.Fingerprint{sum(5)} }},
		{name: "no failure", edit: func(o *trust.Observation) { o.Failure = "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			edited := sample()
			tt.edit(edited)
			if got := evidence.Same(sample(), edited); got != tt.want {
				t.Errorf("Same() = %t, want %t", got, tt.want)
			}
		})
	}
	if evidence.Same(nil, sample()) || evidence.Same(sample(), nil) || !evidence.Same(nil, nil) {
		t.Error("Same() mistakes no observation for one")
	}
}

func FuzzDecode(f *testing.F) {
	good, _ := evidence.Encode("etcd", "servers", "node-1", sample())
	f.Add(good["trusts"], good["trustedSubjects"], good["presents"], good["recoveredUntil"], good["observedAt"], good["startedAt"], good["failure"], "node-1")
	f.Add("", "", "", "", "9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00+14:00", "\xff", "")
	f.Fuzz(func(t *testing.T, trusts, subjects, presents, recoveredUntil, observedAt, startedAt, failure, member string) {
		domain, party, gotMember, o, err := evidence.Decode(map[string]string{
			"trustDomain": "d", "party": "p", "member": member, "trusts": trusts, "trustedSubjects": subjects,
			"presents": presents, "recoveredUntil": recoveredUntil, "observedAt": observedAt, "startedAt": startedAt, "failure": failure,
		})
		if err != nil {
			if !errors.Is(err, evidence.ErrMalformed) || !utf8.ValidString(err.Error()) {
				t.Fatalf("Decode() failed with %q", err)
			}
			return
		}
		data, _ := evidence.Encode(domain, party, gotMember, o)
		_, _, _, again, err := evidence.Decode(data)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if diff := cmp.Diff(o, again); diff != "" {
			t.Fatalf("read twice (-first +second):\n%s", diff)
		}
	})
}
