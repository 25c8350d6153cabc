// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

func settled(t *testing.T) (*world, *Controller) {
	t.Helper()
	w := newWorld(t, webConfig)
	c := w.controller()
	w.settle(c)
	return w, c
}

// TestNothingIsWrittenOnADecisionThatIsOutdated performs each kind of action with an outdated resource version. It
// must fail.
func TestNothingIsWrittenOnADecisionThatIsOutdated(t *testing.T) {
	w, c := settled(t)
	d := w.domain()
	profile := d.Signer.Policy.Profile
	for _, action := range []trust.Action{
		{Kind: trust.GenerateActive, ObjectKind: trust.SecretKind, Object: signerName, Profile: profile},
		{Kind: trust.GenerateNext, ObjectKind: trust.SecretKind, Object: signerName, Profile: profile},
		{Kind: trust.Promote, ObjectKind: trust.SecretKind, Object: signerName},
		{Kind: trust.DropNext, ObjectKind: trust.SecretKind, Object: signerName},
		{Kind: trust.DestroyPrevious, ObjectKind: trust.SecretKind, Object: signerName},
		{Kind: trust.ClearRequest, ObjectKind: trust.RecordKind, Object: "rotate.web-signer", Request: &trust.Request{Record: "rotate.web-signer", ID: "1"}},
		{Kind: trust.DropEvidence, ObjectKind: trust.RecordKind, Object: "evidence.gone", Evidence: &trust.EvidenceRecord{Record: "evidence.gone", UID: "1"}},
		{Kind: trust.RecordRoster, ObjectKind: trust.RecordKind, Object: "roster.web", Roster: d.Roster},
		{Kind: trust.RecordMetadata, ObjectKind: trust.SecretKind, Object: clientLeaf},
		{Kind: trust.RecordMetadata, ObjectKind: trust.ConfigMapKind, Object: bundleName},
		{Kind: trust.IssueLeaf, ObjectKind: trust.SecretKind, Object: serverLeaf, Profile: d.Leaves[1].Policy.Profile, Authority: d.Signer.Active.Fingerprint, Anchors: d.Bundle.Anchors},
		{Kind: trust.UpdateLeafAnchors, ObjectKind: trust.SecretKind, Object: serverLeaf, Anchors: d.Bundle.Anchors},
		{Kind: trust.PublishAnchors, ObjectKind: trust.ConfigMapKind, Object: bundleName, Anchors: d.Bundle.Anchors},
		{Kind: trust.RetireAnchors, ObjectKind: trust.ConfigMapKind, Object: bundleName, Anchors: d.Bundle.Anchors},
	} {
		for name, version := range map[string]string{"another version": "1", "thought to be absent": ""} {
			t.Run(string(action.Kind)+" of "+string(action.ObjectKind)+", "+name, func(t *testing.T) {
				action.ResourceVersion = version
				before := w.api.Version()
				k := key{namespace: testNamespace, domain: "web"}
				if err := c.perform(t.Context(), k, d, domainContent{c, d}, &action); err == nil || !apply.Benign(err) {
					t.Errorf("got error %v, want one that means to look again", err)
				}
				if w.api.Version() != before {
					t.Error("something was written")
				}
			})
		}
	}
}

func TestForeignContentStays(t *testing.T) {
	w, c := settled(t)
	leaf := w.secret(serverLeaf)
	leaf.Data["keystore.p12"] = []byte("mine")
	leaf.Annotations["example.com/owner"] = "me"
	leaf.Labels["team"] = "us"
	before := leaf.Data[inventory.ActiveCertKey]
	w.put(leaf)
	w.request(trust.RequestRotate, serverLeaf)
	w.settle(c)
	after := w.secret(serverLeaf)
	if bytes.Equal(after.Data[inventory.ActiveCertKey], before) {
		t.Fatal("the leaf was not reissued")
	}
	got := []string{string(after.Data["keystore.p12"]), after.Annotations["example.com/owner"], after.Labels["team"]}
	if diff := cmp.Diff([]string{"mine", "me", "us"}, got); diff != "" {
		t.Errorf("foreign content (-want +got):\n%s", diff)
	}
}

func TestLeafSecretIsComplete(t *testing.T) {
	w, _ := settled(t)
	d, leaf := w.domain(), w.secret(serverLeaf)
	pair, err := pki.ParsePair(leaf.Data[inventory.ActiveCertKey], leaf.Data[inventory.ActiveKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	if len(pair.Chain) != 1 || !pair.Chain[0].Equal(d.Signer.Active) {
		t.Error("tls.crt is not the leaf and then its signer")
	}
	if diff := cmp.Diff(w.configMap(bundleName).Data[inventory.BundleKey], string(leaf.Data[inventory.AuthorityKey])); diff != "" {
		t.Errorf("ca.crt is not the bundle (-want +got):\n%s", diff)
	}
	if leaf.Type != corev1.SecretTypeTLS {
		t.Errorf("the type is %s", leaf.Type)
	}
	if !pki.IsGenerationOf(d.Signer.Active.CommonName, testNamespace, signerName) {
		t.Errorf("the signer is called %s", d.Signer.Active.CommonName)
	}
}

func TestAggregate(t *testing.T) {
	w, c := settled(t)
	all := w.secret("all-certs")
	if all.Type != corev1.SecretTypeOpaque || len(all.Data) != 4 || all.Labels[trust.LabelAggregate] != "true" {
		t.Fatalf("type %s, %d keys, labels %v", all.Type, len(all.Data), all.Labels)
	}
	if want := ContentHash(all.Data); all.Annotations[AnnotationContentHash] != want {
		t.Errorf("content hash %s, want %s", all.Annotations[AnnotationContentHash], want)
	}
	for _, leaf := range []string{serverLeaf, clientLeaf} {
		certKey, keyKey := inventory.AggregateKeys(leaf)
		if _, err := pki.ParsePair(all.Data[certKey], all.Data[keyKey]); err != nil {
			t.Errorf("pair of %s: %v", leaf, err)
		}
	}
	all.Data["gone-node.crt"] = []byte("left over")
	all.Labels["team"] = "us"
	w.put(all)
	w.settle(c)
	after := w.secret("all-certs")
	if _, ok := after.Data["gone-node.crt"]; ok || after.Labels["team"] != "us" {
		t.Errorf("keys %d, labels %v: want the foreign key gone and the label kept", len(after.Data), after.Labels)
	}
}

func TestDeletedObjectsComeBack(t *testing.T) {
	for _, name := range []string{serverLeaf, "all-certs"} {
		t.Run(name, func(t *testing.T) {
			w, c := settled(t)
			w.drop(w.secret(name))
			w.settle(c)
			if diff := cmp.Diff(rested, endOf(w)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGenerationsHaveNamesOfTheirOwn(t *testing.T) {
	w, c := settled(t)
	d := w.domain()
	action := &trust.Action{Profile: d.Signer.Policy.Profile}
	w.clock.SetTime(d.Signer.Active.NotBefore.Add(d.Signer.Policy.Profile.Backdate))
	made, err := domainContent{c, d}.newAuthority(t.Context(), action)
	if err != nil {
		t.Fatal(err)
	}
	if made.Certificate.SubjectHash == d.Signer.Active.SubjectHash {
		t.Errorf("two generations are called %s", made.Certificate.CommonName)
	}
}

// TestStaleCache freezes the cache. After one write the controller must not decide on it again. After a timeout it
// decides on live reads.
func TestStaleCache(t *testing.T) {
	w, c := settled(t)
	requestRotation(w)
	w.api.Lag(apifake.Stale)
	k := key{namespace: testNamespace, domain: "web"}
	start := w.api.Writes()
	for range 5 {
		if err := c.queue.Do(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.api.Writes() - start; got != 1 {
		t.Fatalf("%d writes on a cache that shows none of them, want 1", got)
	}
	w.clock.Step(expectationTimeout + time.Second)
	if err := c.queue.Do(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if got := w.api.Writes() - start; got != 4 {
		t.Fatalf("%d writes after the live read, want the signer's, the request's and those of two leaves", got)
	}
	if got := len(w.domain().Bundle.Anchors); got != 1 {
		t.Fatalf("the frozen view changed: %d anchors", got)
	}
	w.api.Lag(0)
	w.settle(c)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// TestPartyRemovedBeforeARotation: informers have separate streams, so a request may arrive before an earlier edit
// of the configuration. A party removed at rest does not count in the rotation.
func TestPartyRemovedBeforeARotation(t *testing.T) {
	w, c := settled(t)
	cfg := w.configuration()
	domain := &cfg.Spec.TrustDomains[0]
	domain.RelyingParties = append(domain.RelyingParties, configv1alpha1.RelyingParty{
		Name: "auditors", Members: []string{"old"}, Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceAcknowledgement},
		Verifies: configv1alpha1.LeafSelection{Usages: []configv1alpha1.Usage{configv1alpha1.ServerAuth}},
	})
	w.put(cfg)
	w.settle(c)
	w.former = w.configuration()
	domain.RelyingParties = domain.RelyingParties[:len(domain.RelyingParties)-1]
	w.put(cfg)
	requestRotation(w)
	if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil && !apply.Benign(err) {
		t.Fatal(err)
	}
	w.former, w.known = nil, nil
	w.settle(c)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s; blockers %+v", diff, trust.Assess(w.domain(), w.clock.Now()).Blockers)
	}
	if len(w.domain().Roster.Members) != 2 {
		t.Errorf("roster %+v", w.domain().Roster.Members)
	}
}

// collector is an Evidence that has observed all members. By default it proves no absence.
type collector struct {
	refresh  func() error
	looked   func() bool
	absences func(missing []trust.RosterMember) (map[string]string, error)
}

func (c collector) Refresh(context.Context, *trust.Domain) error {
	if c.refresh == nil {
		return nil
	}
	return c.refresh()
}

func (c collector) LookedOnce(string, string) bool { return c.looked == nil || c.looked() }

func (c collector) Absences(_ context.Context, _ *trust.Domain, missing []trust.RosterMember) (map[string]string, error) {
	if c.absences == nil {
		return nil, nil
	}
	return c.absences(missing)
}

// promotable is a world whose only action left is the promotion.
func promotable(t *testing.T) (*world, *Controller) {
	t.Helper()
	w, c := settled(t)
	requestRotation(w)
	w.look(c)
	w.acknowledge()
	actions := trust.Assess(w.domain(), w.clock.Now()).Actions
	if len(actions) != 1 || actions[0].Kind != trust.Promote {
		t.Fatalf("actions %v, want the promotion", actions)
	}
	return w, c
}

func TestIrreversibleActionIsConfirmed(t *testing.T) {
	for name, refresh := range map[string]func(w *world) error{
		"the collector fails": func(*world) error { return errors.New("no") },
		"a member is found to lag": func(w *world) error {
			for _, r := range w.records(configv1alpha1.RecordEvidence) {
				w.drop(r)
				return nil
			}
			return errors.New("no evidence")
		},
		"the configuration names another member": func(w *world) error {
			cfg := w.configuration()
			cfg.Spec.TrustDomains[0].RelyingParties[1].Members = []string{"a", "b"}
			w.put(cfg)
			return nil
		},
		"the configuration is gone": func(w *world) error {
			w.drop(w.configuration())
			return nil
		},
		"an abort is asked for": func(w *world) error {
			w.request(trust.RequestAbort, signerName)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := promotable(t)
			c.evidence = collector{refresh: func() error { return refresh(w) }}
			before := w.api.Writes()
			if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err == nil {
				t.Error("no error")
			}
			if w.api.Writes() != before || len(w.secret(signerName).Data[inventory.PreviousCertKey]) > 0 {
				t.Error("it was promoted all the same")
			}
		})
	}
}

func TestBlockedIsSaidOnce(t *testing.T) {
	w, c := settled(t)
	requestRotation(w)
	k := key{namespace: testNamespace, domain: "web"}
	for i := range 6 {
		if i == 3 {
			for _, e := range w.events.all {
				if strings.Contains(e, EventRotationBlocked) {
					t.Errorf("said at once: %q", e)
				}
			}
		}
		if i >= 3 {
			w.clock.Step(blockedPatience)
		}
		if err := c.queue.Do(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	var blocked []string
	for _, e := range w.events.all {
		if strings.Contains(e, EventRotationBlocked) {
			blocked = append(blocked, e)
		}
	}
	assessment := trust.Assess(w.domain(), w.clock.Now())
	if stage := assessment.Stage; stage != trust.Distributing {
		t.Errorf("stage %s, want it to wait in %s", stage, trust.Distributing)
	}
	if len(blocked) != 1 || len(assessment.Blockers) != 2 {
		t.Fatalf("events %q about %d blockers, want one about both", blocked, len(assessment.Blockers))
	}
	for i := range assessment.Blockers {
		if text := assessment.Blockers[i].String(); !strings.Contains(blocked[0], text) {
			t.Errorf("event %q, want the text that every other reader gets: %q", blocked[0], text)
		}
	}
}

func TestBrokenObjectBlocksItsDomainOnly(t *testing.T) {
	domains, _, _ := strings.Cut(webConfig, "  aggregate:")
	broken := strings.ReplaceAll(domains, "web", "other")
	w, c := settled(t)
	w.put(configuration(t, broken))
	w.put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "other-signer", Annotations: map[string]string{trust.AnnotationConfiguration: "other"}}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": []byte("-----BEGIN CERTIFICATE-----\nbroken"), "tls.key": []byte("secret")},
	})
	third := configuration(t, broken)
	third.Name, third.Spec.TrustDomains = "third", nil
	w.put(third)
	before := w.secret("other-signer")
	for range 3 {
		w.clock.Step(blockedPatience)
		for _, domain := range []string{"", "other"} {
			if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: domain}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(before.Data, w.secret("other-signer").Data); diff != "" {
		t.Errorf("the broken object was touched (-before +after):\n%s", diff)
	}
	counts := map[string]int{}
	for _, e := range w.events.all {
		if strings.HasPrefix(e, "Warning") {
			object, _, _ := strings.Cut(e, ":")
			counts[object]++
		}
	}
	want := map[string]int{
		"Warning ObjectProblem Secret/other-signer":                1,
		"Warning RotationBlocked Secret/other-signer":              1,
		"Warning InvalidConfiguration RotationConfiguration/third": 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	requestRotation(w)
	w.settle(c)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Errorf("the sound domain (-want +got):\n%s", diff)
	}
}

// panicking is an Inventory that panics.
type panicking struct{ *world }

func (panicking) Namespace(string) *inventory.Namespace { panic("a fault") }

func TestPanicIsAnError(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.controller()
	c.inventory = panicking{w}
	if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err == nil {
		t.Error("no error")
	}
}

func TestRunWorksAndEnds(t *testing.T) {
	w := newWorld(t, webConfig)
	w.acknowledge()
	registry := metrics.NewKubeRegistry()
	c, err := New(Config{Client: w.client, Records: w.own.ConfigV1alpha1(), Inventory: &serialized{world: w}, Recorder: w.events, Metrics: registry, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	err = wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		c.NamespaceChanged(testNamespace)
		list, err := w.client.CoreV1().Secrets(testNamespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) >= 4, err
	})
	if err != nil {
		t.Fatalf("it did not bootstrap: %v", err)
	}
	cancel()
	<-done
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	for _, name := range []string{"certrotation_actions_total", "certrotation_writes_total", "certrotation_rotation_stage", "certrotation_signer_expiration_timestamp_seconds"} {
		if !names[name] {
			t.Errorf("no metric %s in %v", name, names)
		}
	}
}

// serialized is a world for several goroutines. It keeps no parsed content.
type serialized struct{ *world }

func (s *serialized) Sources(namespace string) *inventory.Sources {
	sources, err := s.Live(context.WithoutCancel(s.t.Context()), namespace)
	if err != nil {
		return nil
	}
	return sources
}

func (s *serialized) Namespace(namespace string) *inventory.Namespace {
	return inventory.Build(s.Sources(namespace))
}
