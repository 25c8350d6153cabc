// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// phasesOf are the phases of the authorities, the key of service accounts and the encryption key.
func phasesOf(r *CredentialRotations) [3]Phase {
	return [3]Phase{r.CertificateAuthorities.Phase, r.ServiceAccountKey.Phase, r.ETCDEncryptionKey.Phase}
}

// TestOperationsOnAll: operations are executed on all credentials that they concern, or on none.
func TestOperationsOnAll(t *testing.T) {
	none := [3]Phase{}
	for _, tt := range []struct {
		name  string
		begin [3]Phase
		text  string
		want  [3]Phase
		// refused is in the error, "" if there is none.
		refused string
	}{
		{name: "authorities", text: "rotate-ca-start", want: [3]Phase{Preparing}},
		{name: "all", text: "rotate-credentials-start", want: [3]Phase{Preparing, Preparing, Preparing}},
		{
			name: "all, without workers", text: "rotate-credentials-start-without-workers-rollout",
			want: [3]Phase{PreparingWithoutWorkersRollout, PreparingWithoutWorkersRollout, Preparing},
		},
		{
			name: "one of all is under way", begin: [3]Phase{"", "", Prepared}, text: "rotate-credentials-start",
			refused: "etcd-encryption-key: operation refused: rotate-credentials-start in the phase Prepared",
		},
		{name: "two", text: "rotate-etcd-encryption-key-start;rotate-serviceaccount-key-start", want: [3]Phase{"", Preparing, Preparing}},
		{
			name: "one of two", begin: [3]Phase{Prepared}, text: "rotate-ca-complete;rotate-serviceaccount-key-complete",
			refused: "serviceaccount-key: operation refused: rotate-serviceaccount-key-complete in the phase never rotated",
		},
		{
			name: "workers of one that waits", begin: [3]Phase{WaitingForWorkersRollout, Prepared, Preparing}, text: "rotate-rollout-workers=a",
			want: [3]Phase{WaitingForWorkersRollout, Prepared, Preparing},
		},
		{name: "workers, and nothing waits", begin: [3]Phase{Preparing}, text: "rotate-rollout-workers=a", refused: "wait until it is WaitingForWorkersRollout"},
		{name: "nothing", text: "", refused: `"" is unknown`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r CredentialRotations
			r.CertificateAuthorities.Phase, r.ServiceAccountKey.Phase, r.ETCDEncryptionKey.Phase = tt.begin[0], tt.begin[1], tt.begin[2]
			if tt.refused != "" {
				tt.want = tt.begin
			}
			after, err := r.Do(tt.text, twoPools, phaseBegin)
			if got := phasesOf(&after); got != tt.want {
				t.Errorf("phases %q, want %q", got, tt.want)
			}
			if (err == nil) != (tt.refused == "") || err != nil && (!errors.Is(err, ErrOperation) || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("error %v, want %q", err, tt.refused)
			}
			if phasesOf(&r) != tt.begin || tt.begin == none && len(r.CertificateAuthorities.PendingWorkersRollouts) > 0 {
				t.Errorf("the states before are changed: %+v", r)
			}
		})
	}
}

// TestRewrites: what is stored is rewritten once in a rotation, when every replica uses the new key, and once in an abort,
// when every one uses the former key.
func TestRewrites(t *testing.T) {
	now := phaseBegin
	var r CredentialRotations
	var did []bool
	for _, operation := range []string{
		"", "rotate-etcd-encryption-key-start", "", "", "rotate-etcd-encryption-key-complete", "", "",
		"rotate-etcd-encryption-key-start", "", "rotate-etcd-encryption-key-abort", "", "",
	} {
		now = now.Add(time.Minute)
		if operation != "" {
			var err error
			if r, err = r.Do(operation, twoPools, now); err != nil {
				t.Fatal(err)
			}
		}
		did = append(did, r.Rewrites())
		r = r.Reconciled(twoPools, now)
	}
	if want := []bool{false, false, true, false, false, false, false, false, true, true, false, false}; !slices.Equal(did, want) {
		t.Errorf("rewritten at %v, want %v", did, want)
	}
}

// TestJudgeEdit: what an edit of a configuration asks for must be possible now.
func TestJudgeEdit(t *testing.T) {
	type configuration = configv1alpha1.RotationConfiguration
	accepted := func(change func(*configuration)) *configuration {
		out := &configuration{Spec: configv1alpha1.RotationConfigurationSpec{Credentials: &configv1alpha1.Credentials{WorkerPools: []string{"a"}}}}
		out.Status.Conditions = []metav1.Condition{{Type: configv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}
		out.Status.Credentials = &configv1alpha1.CredentialsStatus{}
		if change != nil {
			change(out)
		}
		return out
	}
	asks := func(texts ...string) func(*configuration) {
		return func(c *configuration) {
			c.Annotations = map[string]string{}
			for i, text := range texts {
				if text != "" {
					c.Annotations[[]string{AnnotationOperation, AnnotationMaintenanceOperation}[i]] = text
				}
			}
		}
	}
	in := func(phases [3]Phase, change func(*configuration)) *configuration {
		return accepted(func(c *configuration) {
			s := c.Status.Credentials
			s.CertificateAuthorities.Phase, s.ServiceAccountKey.Phase, s.ETCDEncryptionKey.Phase = phases[0], phases[1], phases[2]
			if change != nil {
				change(c)
			}
		})
	}
	hibernates := func(c *configuration) { c.Spec.Credentials.Hibernated = true }
	for _, tt := range []struct {
		name         string
		old, changed *configuration
		refused      string
	}{
		{name: "nothing", old: accepted(nil), changed: accepted(nil)},
		{name: "a start", old: accepted(nil), changed: accepted(asks("rotate-ca-start"))},
		{name: "a start in the next window", old: accepted(nil), changed: accepted(asks("", "rotate-ca-start"))},
		{name: "both at once", old: accepted(asks("rotate-ca-start")), changed: accepted(asks("rotate-ca-start", "rotate-credentials-start")), refused: "exclude each other"},
		{name: "something unknown", old: accepted(nil), changed: accepted(asks("reconcile")), refused: `"reconcile" is unknown`},
		{name: "a completion too early", old: in([3]Phase{Preparing}, nil), changed: in([3]Phase{Preparing}, asks("rotate-ca-complete")), refused: "in the phase Preparing"},
		{name: "it was asked for before", old: in([3]Phase{Preparing}, asks("rotate-ca-complete")), changed: in([3]Phase{Preparing}, asks("rotate-ca-complete"))},
		{name: "a new configuration", changed: &configuration{ObjectMeta: accepted(asks("rotate-ca-start")).ObjectMeta, Spec: accepted(nil).Spec}, refused: "it was never reconciled"},
		{
			name: "no credentials", old: accepted(func(c *configuration) { c.Spec.Credentials = nil }),
			changed: accepted(func(c *configuration) { asks("rotate-ca-start")(c); c.Spec.Credentials = nil }), refused: "spec.credentials",
		},
		{
			name: "it leaves", old: accepted(nil),
			changed: accepted(func(c *configuration) { asks("rotate-ca-start")(c); c.Spec.Credentials.Leaving = true }), refused: "deleted, migrated or restored",
		},
		{
			name: "it is deleted", old: accepted(nil),
			changed: accepted(func(c *configuration) {
				asks("rotate-ca-start")(c)
				c.DeletionTimestamp = &metav1.Time{Time: phaseBegin}
			}), refused: "deleted, migrated or restored",
		},
		{
			name: "workers are updated in place", old: accepted(nil),
			changed: accepted(func(c *configuration) { asks("rotate-ca-start")(c); c.Spec.Credentials.ManualUpdatePending = true }), refused: "updated in place",
		},
		{name: "hibernation", old: in([3]Phase{Preparing, Prepared, Prepared}, nil), changed: in([3]Phase{Preparing, Prepared, Prepared}, hibernates)},
		{name: "hibernation while it rewrites", old: in([3]Phase{"", "", Preparing}, nil), changed: in([3]Phase{"", "", Preparing}, hibernates), refused: "etcd-encryption-key is in the phase Preparing"},
		{name: "hibernation while the former key is dropped", old: in([3]Phase{"", "", Completing}, nil), changed: in([3]Phase{"", "", Completing}, hibernates), refused: "etcd-encryption-key is in the phase Completing"},
		{name: "hibernation while a key is prepared", old: in([3]Phase{"", Preparing}, nil), changed: in([3]Phase{"", Preparing}, hibernates), refused: "serviceaccount-key is in the phase Preparing"},
		{
			name: "hibernation while a key is prepared without workers", old: in([3]Phase{"", PreparingWithoutWorkersRollout}, nil),
			changed: in([3]Phase{"", PreparingWithoutWorkersRollout}, hibernates), refused: "serviceaccount-key is in the phase PreparingWithoutWorkersRollout",
		},
		{name: "hibernation while tokens are reissued", old: in([3]Phase{"", Completing}, nil), changed: in([3]Phase{"", Completing}, hibernates), refused: "serviceaccount-key is in the phase Completing"},
		{name: "an operation while hibernated", old: accepted(hibernates), changed: accepted(func(c *configuration) { hibernates(c); asks("rotate-credentials-start")(c) }), refused: "hibernated"},
		{
			name: "a key of service accounts while hibernated", old: accepted(hibernates),
			changed: accepted(func(c *configuration) { hibernates(c); asks("rotate-serviceaccount-key-start")(c) }), refused: "hibernated",
		},
		{name: "authorities while hibernated", old: accepted(hibernates), changed: accepted(func(c *configuration) { hibernates(c); asks("rotate-ca-start")(c) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := JudgeEdit(tt.old, tt.changed, phaseBegin)
			if (err == nil) != (tt.refused == "") || err != nil && (!errors.Is(err, ErrOperation) || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("error %v, want %q", err, tt.refused)
			}
		})
	}
}
