// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// overTheWire returns the record as the API returns it.
func overTheWire(t testing.TB, in *configv1alpha1.RotationRecord) *configv1alpha1.RotationRecord {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := &configv1alpha1.RotationRecord{}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	tests := map[configv1alpha1.RecordKind]*record.Record{
		configv1alpha1.RecordRequest: {Request: sampleRequest(), RequestedBy: "ada"},
		configv1alpha1.RecordRoster:  {Roster: sampleRoster()},
		configv1alpha1.RecordWaiver:  {Waiver: sampleWaiver()},
		configv1alpha1.RecordRefusal: {Refusal: sampleRefusal()},
		configv1alpha1.RecordClock:   {ClockSkew: -90 * time.Second, LookedAt: lookedAt},
		configv1alpha1.RecordEvidence: {Evidence: &record.Evidence{
			Party: "etcd", Member: "node-1", Observations: []trust.Observation{sampleObservation(), second()},
		}},
	}
	for kind, want := range tests {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			made := object(kind)
			if made.Namespace != testNamespace || made.Labels[trust.LabelTrustDomain] != testDomain {
				t.Errorf("the record is in namespace %q with the labels %v", made.Namespace, made.Labels)
			}
			got, err := record.Decode(overTheWire(t, made))
			if err != nil {
				t.Fatalf("Decode() failed: %v", err)
			}
			want.Kind, want.Domain = kind, testDomain
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Decode() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeEvidence(t *testing.T) {
	t.Parallel()
	base := func(edit func(*trust.Observation)) trust.Observation {
		o := second()
		edit(&o)
		return o
	}
	many := make([]pki.Fingerprint, record.MaxFingerprints+1)
	for i := range many {
		many[i] = sum(i)
	}
	tests := []struct {
		name string
		in   []trust.Observation
		// want is nil if the evidence cannot be recorded.
		want []trust.Observation
	}{
		{name: "no process", want: []trust.Observation{}},
		{
			name: "lists are put in order",
			in:   []trust.Observation{base(func(o *trust.Observation) { o.Trusts = []pki.Fingerprint{sum(2), sum(1), sum(2)} })},
			want: []trust.Observation{base(func(o *trust.Observation) { o.Trusts = []pki.Fingerprint{sum(1), sum(2)} })},
		},
		{
			name: "times are UTC and of microseconds",
			in: []trust.Observation{base(func(o *trust.Observation) {
				o.ObservedAt = noon.Add(1500 * time.Nanosecond).In(time.FixedZone("", 3600))
			})},
			want: []trust.Observation{base(func(o *trust.Observation) { o.ObservedAt = noon.Add(time.Microsecond) })},
		},
		{
			name: "a long failure is cut between characters",
			in:   []trust.Observation{base(func(o *trust.Observation) { o.Failure = strings.Repeat("ü", 5000) })},
			want: []trust.Observation{base(func(o *trust.Observation) { o.Failure = strings.Repeat("ü", 4096) })},
		},
		{
			name: "bytes that are no text are dropped",
			in:   []trust.Observation{base(func(o *trust.Observation) { o.Failure = "a\xffb" })},
			want: []trust.Observation{base(func(o *trust.Observation) { o.Failure = "ab" })},
		},
		{
			name: "of what is trusted as much is kept as there is room",
			in:   []trust.Observation{base(func(o *trust.Observation) { o.Trusts = many })},
			want: []trust.Observation{base(func(o *trust.Observation) { o.Trusts = many[:record.MaxFingerprints] })},
		},
		{name: "of what is presented nothing is left out", in: []trust.Observation{base(func(o *trust.Observation) { o.Presents = many })}},
		{name: "an instance twice", in: []trust.Observation{second(), second()}},
		{name: "no instance", in: []trust.Observation{base(func(o *trust.Observation) { o.Instance = "" })}},
		{name: "no end", in: []trust.Observation{base(func(o *trust.Observation) { o.Expires = time.Time{} })}},
		{name: "too many processes", in: func() []trust.Observation {
			var out []trust.Observation
			for i := range 257 {
				out = append(out, base(func(o *trust.Observation) { o.Instance = fmt.Sprint(i) }))
			}
			return out
		}()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			made, err := record.OfEvidence(testNamespace, testDomain, "etcd", "node-1", tt.in)
			if tt.want == nil {
				if !errors.Is(err, record.ErrUnrecordable) || made != nil {
					t.Fatalf("OfEvidence() = %v, %v; want ErrUnrecordable and nothing", made, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("OfEvidence() failed: %v", err)
			}
			got, err := record.Decode(overTheWire(t, made))
			if err != nil {
				t.Fatalf("Decode() failed: %v", err)
			}
			if diff := cmp.Diff(tt.want, got.Evidence.Observations, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("observations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeOthers(t *testing.T) {
	t.Parallel()
	t.Run("a domain that is no label value", func(t *testing.T) {
		t.Parallel()
		got, err := record.OfWaiver(testNamespace, "a/b", sampleWaiver())
		if err != nil || got.Labels != nil {
			t.Errorf("OfWaiver() has the labels %v and the error %v, want neither", got.GetLabels(), err)
		}
	})
	t.Run("an answer that is long", func(t *testing.T) {
		t.Parallel()
		refusal := sampleRefusal()
		refusal.Answer = strings.Repeat("x", 5000)
		got, err := record.OfRefusal(testNamespace, testDomain, refusal)
		if err != nil || len(got.Spec.Refusal.Answer) != 4096 {
			t.Errorf("OfRefusal() failed with %v, or did not cut the answer: %v", err, got)
		}
	})
	t.Run("a roster that is too long", func(t *testing.T) {
		t.Parallel()
		roster := &trust.Roster{}
		for i := range 5001 {
			roster.Leaves = append(roster.Leaves, fmt.Sprint(i))
		}
		if got, err := record.OfRoster(testNamespace, testDomain, roster); !errors.Is(err, record.ErrUnrecordable) {
			t.Errorf("OfRoster() = %v, %v; want ErrUnrecordable", got, err)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const (
		request  = configv1alpha1.RecordRequest
		roster   = configv1alpha1.RecordRoster
		waiver   = configv1alpha1.RecordWaiver
		evidence = configv1alpha1.RecordEvidence
		refusal  = configv1alpha1.RecordRefusal
	)
	type spec = configv1alpha1.RotationRecordSpec
	tests := []struct {
		name     string
		kind     configv1alpha1.RecordKind
		edit     func(s *spec)
		wantText string
	}{
		{"no domain", waiver, func(s *spec) { s.TrustDomain = "" }, "trustDomain: it is missing"},
		{"another domain", waiver, func(s *spec) { s.TrustDomain = "x" }, "must be named waiver.x.clients.a"},
		{"no kind", waiver, func(s *spec) { s.Kind = "" }, "kind: exactly"},
		{"an unknown kind", waiver, func(s *spec) { s.Kind = "Other" }, "kind: exactly"},
		{"another kind", waiver, func(s *spec) { s.Kind = request }, "kind: exactly"},
		{"nothing", waiver, func(s *spec) { s.Waiver = nil }, "kind: exactly"},
		{"two things", waiver, func(s *spec) { s.Refusal = &configv1alpha1.RecordedRefusal{} }, "kind: exactly"},
		{"an unknown request", request, func(s *spec) { s.Request.Kind = "Pause" }, "request.kind"},
		{"a request for nothing", request, func(s *spec) { s.Request.SecretName = "" }, "request.secretName"},
		{"a request for something else", request, func(s *spec) { s.Request.SecretName = "x" }, "must be named rotate.x"},
		{"an abort under the name of a rotation", request, func(s *spec) { s.Request.Kind = configv1alpha1.RequestAbort }, "must be named abort."},
		{"a long reason", request, func(s *spec) { s.Request.Reason = strings.Repeat("ü", 1025) }, "request.reason: it has 1025"},
		{"a reason that is no text", request, func(s *spec) { s.Request.Reason = "\xff" }, "request.reason: it is not UTF-8"},
		{"a long name of the user", request, func(s *spec) { s.Request.RequestedBy = strings.Repeat("u", 513) }, "request.requestedBy"},
		{"a signer twice", roster, func(s *spec) { s.Roster.Signers[1] = s.Roster.Signers[0] }, "roster.signers[1]: it is out of order"},
		{"leaves out of order", roster, func(s *spec) { slices.Reverse(s.Roster.Leaves) }, "roster.leaves[1]: it is out of order"},
		{"a leaf twice", roster, func(s *spec) { s.Roster.Leaves[1] = s.Roster.Leaves[0] }, "roster.leaves[1]: it is out of order"},
		{"members out of order", roster, func(s *spec) { slices.Reverse(s.Roster.Members) }, "roster.members[1]: it is out of order"},
		{"a member twice", roster, func(s *spec) { s.Roster.Members[1] = s.Roster.Members[0] }, "roster.members[1]: it is out of order"},
		{"a member without a name", roster, func(s *spec) { s.Roster.Members[1].Member = "" }, "roster.members[1].member"},
		{"a member with an unknown kind", roster, func(s *spec) { s.Roster.Members[0].Evidence = "hearsay" }, "roster.members[0].evidence"},
		{"a negative grace", roster, func(s *spec) { s.Roster.Members[0].Grace.Duration = -1 }, "roster.members[0].grace"},
		{"a CA that is none", roster, func(s *spec) { s.Roster.NeverSigned = []string{"ab"} }, "roster.neverSigned[0]"},
		{"too many CAs", roster, func(s *spec) { s.Roster.MayHaveSigned = make([]string, 17) }, "the limit is 16"},
		{"too many members", roster, func(s *spec) { s.Roster.Members = make([]configv1alpha1.RosterMember, 5001) }, "the limit is 5000"},
		{"a waiver of nobody", waiver, func(s *spec) { s.Waiver.Member = "" }, "waiver.member"},
		{"a waiver of somebody else", waiver, func(s *spec) { s.Waiver.Member = "b" }, "must be named waiver.etcd.clients.b"},
		{"a waiver without a reason", waiver, func(s *spec) { s.Waiver.Reason = "" }, "waiver.reason"},
		{"a waiver without an end", waiver, func(s *spec) { s.Waiver.Expires = metav1.Time{} }, "waiver.expires: it is missing"},
		{"a refusal of nothing", refusal, func(s *spec) { s.Refusal.Object = "ConfigMap/" }, "refusal.object"},
		{"a refusal of no verb", refusal, func(s *spec) { s.Refusal.Verb = "" }, "refusal.verb"},
		{"a refusal without a beginning", refusal, func(s *spec) { s.Refusal.Since = metav1.Time{} }, "refusal.since"},
		{"a clock that is off by centuries", configv1alpha1.RecordClock, func(s *spec) { s.Clock.SkewSeconds = 1 << 40 }, "clock.skewSeconds"},
		{"the clock of another domain", configv1alpha1.RecordClock, func(s *spec) { s.TrustDomain = "x" }, "must be named clock.x"},
		{"evidence of nobody", evidence, func(s *spec) { s.Evidence.Member = "" }, "evidence.member"},
		{"evidence of somebody else", evidence, func(s *spec) { s.Evidence.Party = "x" }, "must be named evidence.etcd.x.node-1"},
		{"a process without an instance", evidence, func(s *spec) { s.Evidence.Processes[0].Instance = "" }, "processes[0].instance"},
		{"a process twice", evidence, func(s *spec) { s.Evidence.Processes[1].Instance = "pod-1" }, "processes[1]: its instance is there twice"},
		{"too many processes", evidence, func(s *spec) { s.Evidence.Processes = make([]configv1alpha1.ProcessEvidence, 257) }, "the limit is 256"},
		{"an unknown evidence kind", evidence, func(s *spec) { s.Evidence.Processes[0].Kind = "hearsay" }, "processes[0].kind"},
		{"a short fingerprint", evidence, func(s *spec) { s.Evidence.Processes[0].Trusts = []string{"ab"} }, "processes[0].trusts[0]"},
		{"capitals", evidence, func(s *spec) { s.Evidence.Processes[0].TrustedSubjects = []string{strings.Repeat("A", 64)} }, "processes[0].trustedSubjects[0]"},
		{"too many fingerprints", evidence, func(s *spec) { s.Evidence.Processes[0].Presents = make([]string, 257) }, "the limit is 256"},
		{"a long failure", evidence, func(s *spec) { s.Evidence.Processes[0].Failure = strings.Repeat("x", 4097) }, "processes[0].failure"},
		{"never observed", evidence, func(s *spec) { s.Evidence.Processes[0].ObservedAt = metav1.MicroTime{} }, "processes[0].observedAt: it is missing"},
		{"without an end", evidence, func(s *spec) { s.Evidence.Processes[0].Expires = metav1.MicroTime{} }, "processes[0].expires: it is missing"},
		{"a time beyond RFC 3339", evidence, func(s *spec) {
			beyond := metav1.NewMicroTime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600)))
			s.Evidence.Processes[0].StartedAt = &beyond
		}, "processes[0].startedAt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := object(tt.kind)
			tt.edit(&bad.Spec)
			got, err := record.Decode(bad)
			if !errors.Is(err, record.ErrMalformed) || got != nil {
				t.Fatalf("Decode() = %v, %v; want ErrMalformed and nothing", got, err)
			}
			if !strings.Contains(err.Error(), tt.wantText) {
				t.Errorf("Decode() failed with %q, want it to contain %q", err, tt.wantText)
			}
		})
	}
}

// TestDecodeTakesAnyOrder: several writers may have put processes into one record.
func TestDecodeTakesAnyOrder(t *testing.T) {
	t.Parallel()
	shuffled := object(configv1alpha1.RecordEvidence)
	slices.Reverse(shuffled.Spec.Evidence.Processes)
	got, err := record.Decode(shuffled)
	if err != nil {
		t.Fatalf("Decode() failed: %v", err)
	}
	if diff := cmp.Diff([]trust.Observation{sampleObservation(), second()}, got.Evidence.Observations); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range []configv1alpha1.RecordKind{
		configv1alpha1.RecordRequest, configv1alpha1.RecordRoster, configv1alpha1.RecordWaiver,
		configv1alpha1.RecordEvidence, configv1alpha1.RecordRefusal, configv1alpha1.RecordClock,
	} {
		data, err := json.Marshal(object(kind))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"spec":{"kind":"Waiver","waiver":{"expires":"9999-12-31T23:59:59-14:00"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &configv1alpha1.RotationRecord{}
		if json.Unmarshal(data, in) != nil {
			return
		}
		read, err := record.Decode(in)
		if err != nil {
			if !errors.Is(err, record.ErrMalformed) || !utf8.ValidString(err.Error()) {
				t.Fatalf("Decode() failed with %q", err)
			}
			return
		}
		again, err := record.Decode(overTheWire(t, rewritten(t, in, read)))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(read, again); diff != "" {
			t.Fatalf("read twice (-first +second):\n%s", diff)
		}
	})
}

// rewritten encodes a decoded record again.
func rewritten(t *testing.T, in *configv1alpha1.RotationRecord, read *record.Record) *configv1alpha1.RotationRecord {
	t.Helper()
	var (
		out *configv1alpha1.RotationRecord
		err error
	)
	switch {
	case read.Request != nil:
		out, err = record.OfRequest(in.Namespace, read.Domain, read.Request, read.RequestedBy)
	case read.Roster != nil:
		out, err = record.OfRoster(in.Namespace, read.Domain, read.Roster)
	case read.Waiver != nil:
		out, err = record.OfWaiver(in.Namespace, read.Domain, read.Waiver)
	case read.Evidence != nil:
		out, err = record.OfEvidence(in.Namespace, read.Domain, read.Evidence.Party, read.Evidence.Member, read.Evidence.Observations)
	case read.Kind == configv1alpha1.RecordClock:
		out, err = record.OfClock(in.Namespace, read.Domain, read.ClockSkew, read.LookedAt)
	default:
		out, err = record.OfRefusal(in.Namespace, read.Domain, read.Refusal)
	}
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	out.UID, out.ResourceVersion = in.UID, in.ResourceVersion
	return out
}
