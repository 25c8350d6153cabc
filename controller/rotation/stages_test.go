// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// shown returns the gauges of a name, by "label=value ...".
func shown(t *testing.T, r *reports, c clock.PassiveClock, name string) map[string]float64 {
	t.Helper()
	return shownWith(t, r, newRefusals(c), c, name)
}

func shownWith(t *testing.T, r *reports, refused *refusals, c clock.PassiveClock, name string) map[string]float64 {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	newMeters(r, refused, c).register(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%s", label.GetName(), label.GetValue()))
			}
			got[strings.Join(labels, " ")] = m.GetGauge().GetValue()
		}
	}
	return got
}

// TestOpenShiftMetric: the days count from the scrape, not from the last reconciliation.
func TestOpenShiftMetric(t *testing.T) {
	w := newWorld(t, webConfig)
	r := newReports()
	for domain, signer := range map[string]string{"etcd": "etcd-signer", "etcd-metrics": "etcd-metric-signer", "other": "signer"} {
		r.replace(key{namespace: "openshift-etcd", domain: domain}, status{stage: trust.Stable, signer: signer, expires: w.clock.Now().Add(48 * time.Hour)})
	}
	w.clock.Step(12 * time.Hour)
	want := map[string]float64{"name=signer-ca namespace=openshift-etcd": 1.5, "name=metrics-signer-ca namespace=openshift-etcd": 1.5}
	if diff := cmp.Diff(want, shown(t, r, w.clock, "openshift_etcd_operator_signer_expiration_days")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCertificateMetrics(t *testing.T) {
	w, c := settled(t)
	d := w.domain()
	a := trust.Assess(d, w.clock.Now())
	expires, due := map[string]float64{}, map[string]float64{}
	add := func(name, role string, at, renewal time.Time) {
		labels := fmt.Sprintf("name=%s namespace=demo role=%s trust_domain=web", name, role)
		expires[labels], due[labels] = float64(at.Unix()), float64(renewal.Unix())
	}
	add(signerName, "Signer", d.Signer.Active.NotAfter, a.SignerDue)
	for i := range d.Leaves {
		add(d.Leaves[i].Name, "Leaf", d.Leaves[i].Certificate.NotAfter, a.Leaves[i].Due)
	}
	if diff := cmp.Diff(expires, shown(t, c.reported, w.clock, "certrotation_certificate_expiration_timestamp_seconds")); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(due, shown(t, c.reported, w.clock, "certrotation_certificate_renewal_timestamp_seconds")); diff != "" {
		t.Errorf("renewal (-want +got):\n%s", diff)
	}
	d.Leaves[0].Certificate.NotAfter = d.Signer.Active.NotAfter
	if got := certificatesOf(d, trust.Assess(d, w.clock.Now()))[1]; !got.due.IsZero() {
		t.Errorf("a leaf that ends with its signer is to be renewed at %s", got.due)
	}
}

// TestAnchorMetrics: of each slot the anchor that expires first, and nothing of a slot that is empty again.
func TestAnchorMetrics(t *testing.T) {
	w, c := settled(t)
	for _, when := range []string{"at rest", "in a rotation", "at rest again"} {
		d := w.domain()
		a := trust.Assess(d, w.clock.Now())
		want := map[string]float64{}
		for _, anchor := range a.Anchors {
			want[fmt.Sprintf("namespace=demo slot=%s trust_domain=web", anchor.Slot)] = float64(anchor.Certificate.NotAfter.Unix())
		}
		if in := when == "in a rotation"; in != (len(want) > 1) || len(want) != len(a.Anchors) {
			t.Fatalf("%s the bundle has the anchors %v", when, want)
		}
		if diff := cmp.Diff(want, shown(t, c.reported, w.clock, "certrotation_anchor_expiration_timestamp_seconds")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if when == "at rest" {
			requestRotation(w)
			for range 6 {
				if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		w.settle(c)
	}
	now := w.clock.Now()
	first, last := pki.Certificate{NotAfter: now}, pki.Certificate{NotAfter: now.Add(time.Hour)}
	got := anchorsOf(&trust.Assessment{Anchors: []trust.AnchorAssessment{{Certificate: &last}, {Certificate: &first}}})
	if diff := cmp.Diff(map[trust.Slot]time.Time{"": now}, got); diff != "" {
		t.Errorf("two of a slot (-want +got):\n%s", diff)
	}
}

func TestAgeMetrics(t *testing.T) {
	w, c := settled(t)
	ages := func() (stage, blocked float64) {
		t.Helper()
		for labels, age := range shown(t, c.reported, w.clock, "certrotation_rotation_stage_age_seconds") {
			if want := "namespace=demo stage=" + string(trust.Assess(w.domain(), w.clock.Now()).Stage) + " trust_domain=web"; labels != want {
				t.Errorf("labels %s, want %s", labels, want)
			}
			stage = age
		}
		return stage, shown(t, c.reported, w.clock, "certrotation_rotation_blocked_seconds")["namespace=demo trust_domain=web"]
	}
	if stage, blocked := ages(); stage != 0 || blocked != 0 {
		t.Errorf("at rest the ages are %g and %g", stage, blocked)
	}
	requestRotation(w)
	look := func() {
		t.Helper()
		if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		look()
	}
	// Reconciling in between must not restart the age.
	for range 3 {
		w.clock.Step(10 * time.Minute)
		look()
	}
	if stage, blocked := ages(); stage < 1800 || stage > 1860 || blocked != 1800 {
		t.Errorf("after half an hour the ages are %g and %g", stage, blocked)
	}
	w.settle(c)
	if stage, blocked := ages(); stage != 0 || blocked != 0 {
		t.Errorf("at rest again the ages are %g and %g", stage, blocked)
	}
}

func TestAge(t *testing.T) {
	now := time.Unix(1000, 0)
	for since, want := range map[time.Time]float64{{}: 0, now.Add(-time.Minute): 60, now.Add(time.Minute): 0} {
		if got := age(since, now); got != want {
			t.Errorf("since %s: %g, want %g", since, got, want)
		}
	}
}
