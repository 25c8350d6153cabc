// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// answer is the expected outcome of a review.
type answer struct {
	// Code is 0 if the edit is allowed.
	Code       int32
	Invariants []string
	// LiveReads is how many live reads the answer took.
	LiveReads int
	// Warned reports whether the answer has a warning.
	Warned bool
}

func edited(s *corev1.Secret, change func(*corev1.Secret)) *corev1.Secret {
	s = s.DeepCopy()
	change(s)
	return s
}

// leaving returns a Secret that is deleted and waits for its finalizers.
func leaving(s *corev1.Secret, besides ...string) *corev1.Secret {
	return edited(s, func(s *corev1.Secret) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: now}, append([]string{"example.com/first"}, besides...)
	})
}

func editedConfigMap(cm *corev1.ConfigMap, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	cm = cm.DeepCopy()
	change(cm)
	return cm
}

func editedConfiguration(c *configv1alpha1.RotationConfiguration, change func(*configv1alpha1.RotationConfigurationSpec)) *configv1alpha1.RotationConfiguration {
	c = c.DeepCopy()
	change(&c.Spec)
	return c
}

func bundleOf(anchors ...*pki.Pair) func(*corev1.ConfigMap) {
	return func(cm *corev1.ConfigMap) {
		cm.Data[inventory.BundleKey] = ""
		for _, ca := range anchors {
			cm.Data[inventory.BundleKey] += string(ca.CertPEM())
		}
	}
}

func TestReview(t *testing.T) {
	stable := newWorld(t)
	distributing := stable.clone().distribute()
	trusted := distributing.clone().observe(distributing.active, distributing.next)
	retiring := stable.clone().retire()
	empty := &world{t: t, config: stable.config}
	unconfigured := stable.clone()
	unconfigured.config = nil
	rostered := distributing.clone().roster()

	server := stable.secrets["service-server"]
	config := stable.config
	renamed := editedConfiguration(config, func(s *configv1alpha1.RotationConfigurationSpec) { s.Preset.MTLSService.Name = "other" })
	second := config.DeepCopy()
	second.Name, second.CreationTimestamp = "second", metav1.NewTime(now)
	denied := func(liveReads int, invariants ...trust.Invariant) answer {
		a := answer{Code: 403, LiveReads: liveReads}
		for _, i := range invariants {
			a.Invariants = append(a.Invariants, string(i))
		}
		return a
	}
	foreign := stable.leaf("service-server", stable.foreign)
	mismatched := edited(server, func(s *corev1.Secret) {
		s.Data[corev1.TLSPrivateKeyKey] = stable.secrets["service-client-a"].Data[corev1.TLSPrivateKeyKey]
	})
	annotated := func(key, value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Annotations[key] = value }
	}
	unannotated := func(s *corev1.Secret) { delete(s.Annotations, trust.AnnotationNotAfter) }

	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		change       func(*admissionv1.AdmissionRequest)
		want         answer
	}{
		// Secrets
		{name: "leaf from a foreign CA", world: stable, old: server, changed: foreign, want: denied(1, trust.TrustBeforeUse)},
		{name: "leaf from a foreign CA, dry run", world: stable, old: server, changed: foreign,
			change: func(r *admissionv1.AdmissionRequest) { r.DryRun = new(true) }, want: denied(1, trust.TrustBeforeUse)},
		{name: "leaf from a foreign CA in a new Secret", world: empty, changed: foreign, want: denied(1, trust.TrustBeforeUse)},
		{name: "leaf from a foreign CA where nothing is configured", world: unconfigured, old: server, changed: foreign},
		{name: "unclaimed Secret from a foreign CA", world: stable, changed: edited(foreign, func(s *corev1.Secret) { s.Name = "mine" })},
		{name: "leaf from the active CA", world: stable, old: server, changed: stable.leaf("service-server", stable.active)},
		{name: "leaf from the next CA, unproven", world: distributing, old: server, changed: distributing.leaf("service-server", distributing.next),
			want: denied(1, trust.TrustBeforeUse)},
		{name: "leaf from the next CA, proven", world: trusted, old: trusted.secrets["service-server"],
			changed: distributing.leaf("service-server", distributing.next)},
		{name: "key of another certificate", world: stable, old: server, changed: mismatched, want: denied(1, trust.PairMatches)},
		{name: "annotation removed mid-rotation", world: distributing, old: server, changed: edited(server, unannotated), want: denied(1, trust.ContentDecides)},
		{name: "annotation lowered mid-rotation", world: distributing, old: server,
			changed: edited(server, annotated(trust.AnnotationNotAfter, "2020-01-01T00:00:00Z")), want: denied(1, trust.ContentDecides)},
		{name: "annotation removed when stable", world: stable, old: server, changed: edited(server, unannotated), want: answer{Warned: true}},
		{name: "not-before removed when stable", world: stable, old: server,
			changed: edited(server, func(s *corev1.Secret) { delete(s.Annotations, trust.AnnotationNotBefore) }), want: answer{Warned: true}},
		{name: "all annotations removed when stable", world: stable, old: server,
			changed: edited(server, func(s *corev1.Secret) {
				maps.DeleteFunc(s.Annotations, func(key, _ string) bool { return key != trust.AnnotationConfiguration })
			})},
		{name: "annotation of somebody else", world: distributing, old: server, changed: edited(server, annotated("example.com/team", "x"))},
		{name: "signer made immutable", world: stable, old: stable.secrets["service-signer"],
			changed: edited(stable.secrets["service-signer"], func(s *corev1.Secret) { s.Immutable = new(true) }), want: denied(1, trust.NoSilentWait)},
		{name: "bundle made immutable", world: stable, old: stable.configMaps["service-ca-bundle"],
			changed: editedConfigMap(stable.configMaps["service-ca-bundle"], func(cm *corev1.ConfigMap) { cm.Immutable = new(true) }), want: denied(1, trust.NoSilentWait)},
		{name: "immutable is said not to be", world: stable, old: stable.configMaps["service-ca-bundle"],
			changed: editedConfigMap(stable.configMaps["service-ca-bundle"], func(cm *corev1.ConfigMap) { cm.Immutable = new(false) })},
		{name: "last finalizer of a deleted signer mid-rotation", world: distributing, old: leaving(distributing.secrets["service-signer"]),
			changed: edited(leaving(distributing.secrets["service-signer"]), func(s *corev1.Secret) { s.Finalizers = nil }), want: denied(1, trust.OneRotation)},
		{name: "one of two finalizers of a deleted signer mid-rotation", world: distributing, old: leaving(distributing.secrets["service-signer"], "second"),
			changed: leaving(distributing.secrets["service-signer"])},
		{name: "finalizer of a signer that nobody deletes", world: distributing, old: edited(distributing.secrets["service-signer"], func(s *corev1.Secret) { s.Finalizers = []string{"x/y"} }),
			changed: distributing.secrets["service-signer"]},
		{name: "stable leaf deleted", world: stable, old: server, want: answer{LiveReads: 1, Warned: true}},
		{name: "signer deleted mid-rotation", world: distributing, old: distributing.secrets["service-signer"], want: denied(1, trust.OneRotation)},
		{name: "deletion of a collection, without a name", world: distributing, old: distributing.secrets["service-signer"],
			change: func(r *admissionv1.AdmissionRequest) { r.Name = "" }, want: denied(1, trust.OneRotation)},
		{name: "signer deleted by the namespace controller", world: distributing, old: distributing.secrets["service-signer"],
			change: func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = namespaceController }},
		{name: "signer changed by somebody called as the namespace controller", world: distributing,
			old: distributing.secrets["service-signer"], changed: stable.secret("service-signer", stable.foreign),
			change: func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = namespaceController },
			want:   denied(1, trust.AnchorInUse, trust.TrustBeforeUse)},
		{name: "generated name", world: stable, changed: edited(foreign, func(s *corev1.Secret) { s.Name, s.GenerateName = "", "service-" })},
		{name: "subresource", world: stable, old: server, changed: foreign, change: func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" }},
		{name: "other group", world: stable, old: server, changed: foreign, change: func(r *admissionv1.AdmissionRequest) { r.Resource.Group = "example.com" }},
		{name: "other resource", world: stable, old: server, changed: foreign, change: func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "pods" }},
		{name: "connect", world: stable, old: server, changed: foreign, change: func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Connect }},

		// Bundles
		{name: "bundle emptied", world: stable, old: stable.configMaps["service-ca-bundle"],
			changed: editedConfigMap(stable.configMaps["service-ca-bundle"], bundleOf()), want: denied(1, trust.NeverEmpty)},
		{name: "anchor removed that leaves need", world: distributing, old: distributing.configMaps["service-ca-bundle"],
			changed: editedConfigMap(distributing.configMaps["service-ca-bundle"], bundleOf(distributing.next)), want: denied(1, trust.AnchorInUse)},
		{name: "anchor removed that nothing needs", world: retiring, old: retiring.configMaps["service-ca-bundle"],
			changed: editedConfigMap(retiring.configMaps["service-ca-bundle"], bundleOf(retiring.next)), want: answer{LiveReads: 1}},
		{name: "anchor added", world: stable, old: stable.configMaps["service-ca-bundle"],
			changed: editedConfigMap(stable.configMaps["service-ca-bundle"], bundleOf(stable.active, stable.foreign))},
		{name: "stable bundle deleted", world: stable, old: stable.configMaps["service-ca-bundle"], want: answer{LiveReads: 1, Warned: true}},
		{name: "bundle deleted mid-rotation", world: distributing, old: distributing.configMaps["service-ca-bundle"], want: denied(1, trust.AnchorInUse)},
		{name: "unclaimed ConfigMap", world: stable, changed: configMap("mine", nil, map[string]string{inventory.BundleKey: "x"})},

		// Configurations
		{name: "first configuration", world: unconfigured, changed: config},
		{name: "configuration without a client", world: unconfigured,
			changed: editedConfiguration(config, func(s *configv1alpha1.RotationConfigurationSpec) { s.Preset.MTLSService.Clients = nil }),
			want:    answer{Code: 422}},
		{name: "configuration without content", world: unconfigured,
			changed: editedConfiguration(config, func(s *configv1alpha1.RotationConfigurationSpec) { s.Preset = nil }), want: answer{Code: 422}},
		{name: "configuration that claims what another one has", world: stable, changed: second, want: answer{Code: 422, LiveReads: 1}},
		{name: "stable configuration deleted", world: stable, old: config, want: denied(1, trust.ReleasedByName)},
		{name: "configuration deleted mid-rotation", world: distributing, old: config, want: denied(1, trust.OneRotation)},
		{name: "configuration labelled mid-rotation", world: distributing, old: config, changed: func() runtime.Object {
			c := config.DeepCopy()
			c.Labels = map[string]string{"team": "x"}
			return c
		}()},
		{name: "status of a configuration", world: distributing, old: config, changed: renamed,
			change: func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" }},
		{name: "domain renamed mid-rotation", world: distributing, old: config, changed: renamed, want: denied(1, trust.OneRotation)},
		{name: "client dropped mid-rotation", world: distributing, old: config, changed: configuration("a"), want: denied(1, trust.TrustBeforeUse)},
		{name: "client dropped that the roster has", world: rostered, old: config, changed: configuration("a"), want: denied(1, trust.TrustBeforeUse)},
		{name: "client added that the roster has not", world: rostered, old: config, changed: configuration("a", "b", "c")},
		{name: "leaf no longer named", world: stable, old: explicit(), changed: explicit("service-client-b"), want: answer{LiveReads: 1, Warned: true}},
		{name: "leaf released", world: stable, old: explicit("service-client-b"), changed: released(explicit("service-client-b"), "service-client-b"), want: answer{LiveReads: 1, Warned: true}},
		{name: "a leaf that does not exist is released", world: stable, old: explicit(), changed: released(explicit(), "gone")},
		{name: "a broken configuration is annotated", world: stable, old: broken(config), changed: func() runtime.Object {
			c := broken(config)
			c.Annotations = map[string]string{"note": "x"}
			return c
		}()},
		{name: "a broken configuration is deleted", world: stable, old: broken(second)},

		// Records
		{name: "evidence by the controller", world: trusted, old: evidenceOf(trusted),
			changed: evidenceOf(retiring), change: func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = "controller" }},
		{name: "evidence forged", world: trusted, old: evidenceOf(trusted), changed: evidenceOf(retiring), want: denied(0, trust.ContentDecides)},
		{name: "evidence forged anew", world: distributing, changed: evidenceOf(trusted), want: denied(0, trust.ContentDecides)},
		{name: "evidence forged where nothing is configured yet", world: unconfigured, changed: evidenceOf(trusted), want: denied(0, trust.ContentDecides)},
		{name: "evidence with a note", world: trusted, old: evidenceOf(trusted), changed: func() runtime.Object {
			r := evidenceOf(trusted).DeepCopy()
			r.Annotations = map[string]string{"note": "x"}
			return r
		}()},
		{name: "evidence with a mark of ours", world: trusted, old: evidenceOf(trusted), changed: func() runtime.Object {
			r := evidenceOf(trusted).DeepCopy()
			r.Annotations = map[string]string{trust.AnnotationDeleteGraceStart: "2020-01-01T00:00:00Z"}
			return r
		}(), want: denied(0, trust.ContentDecides)},
		{name: "evidence deleted", world: trusted, old: evidenceOf(trusted), want: denied(0, trust.ContentDecides)},
		{name: "roster deleted", world: rostered, old: rostered.records["roster.service"], want: denied(0, trust.ContentDecides)},
		{name: "roster deleted with its namespace", world: rostered, old: rostered.records["roster.service"],
			change: func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = namespaceController }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			req := request(t, tc.old, tc.changed)
			if tc.change != nil {
				tc.change(req)
			}
			got := ask(t, newHandler(t, v, namespaceOf(false)), v, req)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// explicit returns the preset's domain written out, without some of its leaves.
func explicit(without ...string) *configv1alpha1.RotationConfiguration {
	c := configuration("a", "b")
	loaded, err := load.Spec(&c.Spec, demo)
	if err != nil {
		panic(err)
	}
	c.Spec = *loaded
	c.Spec.Preset = nil
	domain := &c.Spec.TrustDomains[0]
	gone := func(name string) bool { return slices.Contains(without, name) }
	domain.Leaves = slices.DeleteFunc(domain.Leaves, func(l configv1alpha1.Leaf) bool { return gone(l.SecretName) })
	domain.RelyingParties = slices.DeleteFunc(domain.RelyingParties, func(p configv1alpha1.RelyingParty) bool {
		return slices.ContainsFunc(p.Presents, gone)
	})
	return c
}

func released(c *configv1alpha1.RotationConfiguration, leaves ...string) *configv1alpha1.RotationConfiguration {
	return editedConfiguration(c, func(s *configv1alpha1.RotationConfigurationSpec) { s.TrustDomains[0].ReleasedLeaves = leaves })
}

func evidenceOf(w *world) *configv1alpha1.RotationRecord {
	r := w.records["evidence.service.client-a.client-a"]
	if r == nil {
		w.t.Fatal("no evidence record")
	}
	return r
}

// broken returns a configuration that no longer loads. It stands for one that was stored before the guard ran.
func broken(c *configv1alpha1.RotationConfiguration) *configv1alpha1.RotationConfiguration {
	return editedConfiguration(c, func(s *configv1alpha1.RotationConfigurationSpec) { s.Preset = nil })
}

// roster records that all configured members count.
func (w *world) roster() *world {
	roster := &trust.Roster{Signers: []string{"service-signer"}, Leaves: []string{"service-client-a", "service-client-b", "service-server"}}
	for _, p := range inventory.Build(w.sources()).Domain("service").Parties {
		for _, m := range p.Members {
			roster.Members = append(roster.Members, trust.RosterMember{
				Party: p.Name, Member: m.Name, Kind: p.Kind, Verifies: p.Verifies, Presents: m.Holds, Started: true,
			})
		}
	}
	recorded, err := record.OfRoster(demo, "service", roster)
	if err != nil {
		w.t.Fatal(err)
	}
	w.records[recorded.Name] = recorded
	return w
}

func namespaceOf(terminating bool) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: demo}}
	if terminating {
		ns.DeletionTimestamp = new(metav1.NewTime(now))
	}
	return ns
}

// ask reviews a request and checks what holds for every answer.
func ask(t *testing.T, h *Handler, v *view, req *admissionv1.AdmissionRequest) answer {
	t.Helper()
	got, err := h.review(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{Invariants: got.invariants, LiveReads: v.liveReads, Warned: len(got.warnings) > 0}
	response := got.response(req.UID)
	if response.Allowed != (response.Result == nil) {
		t.Errorf("allowed %t with status %v", response.Allowed, response.Result)
	}
	for _, warning := range response.Warnings {
		if len(warning) > maxWarningBytes {
			t.Errorf("warning of %d bytes: %s", len(warning), warning)
		}
	}
	if response.Result != nil {
		a.Code = response.Result.Code
		if n := len(response.Result.Message); n == 0 || n > maxMessageBytes {
			t.Errorf("message of %d bytes", n)
		}
		if len(response.Result.Details.Causes) == 0 {
			t.Error("a denial without causes")
		}
	}
	return a
}

func TestStaleView(t *testing.T) {
	stable := newWorld(t)
	distributing := stable.clone().distribute()
	trusted := distributing.clone().observe(distributing.active, distributing.next)
	retiring := stable.clone().retire()
	server := stable.secrets["service-server"]
	byNext := distributing.leaf("service-server", distributing.next)
	bundle := retiring.configMaps["service-ca-bundle"]
	retired := editedConfigMap(bundle, bundleOf(retiring.next))
	behind := retiring.clone()
	behind.secrets["service-client-b"] = stable.secrets["service-client-b"]

	for _, tc := range []struct {
		name         string
		cached, live *world
		old, changed runtime.Object
		want         answer
		wantErr      error
	}{
		{name: "denial was only staleness", cached: distributing, live: trusted, old: trusted.secrets["service-server"], changed: byNext,
			want: answer{LiveReads: 1}},
		{name: "denial stands", cached: distributing, live: distributing, old: server, changed: byNext,
			want: answer{Code: 403, Invariants: []string{"TrustBeforeUse"}, LiveReads: 1}},
		{name: "denial stands when nothing live can be read", cached: distributing, old: server, changed: byNext,
			want: answer{Code: 403, Invariants: []string{"TrustBeforeUse"}, LiveReads: 1}},
		{name: "permission to remove an anchor was only staleness", cached: retiring, live: behind, old: bundle, changed: retired,
			want: answer{Code: 403, Invariants: []string{"AnchorInUse"}, LiveReads: 1}},
		{name: "permission to remove an anchor without live reads", cached: retiring, old: bundle, changed: retired, wantErr: errUnconfirmed},
		{name: "view has an older version of the edited object", cached: stable, live: distributing,
			old: distributing.secrets["service-signer"], changed: distributing.secrets["service-signer"].DeepCopy(), want: answer{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &view{cached: tc.cached.sources()}
			if tc.live != nil {
				v.live = tc.live.sources()
			}
			h := newHandler(t, v, namespaceOf(false))
			req := request(t, tc.old, tc.changed)
			if tc.wantErr != nil {
				if got, err := h.review(t.Context(), req); !errors.Is(err, tc.wantErr) {
					t.Errorf("got %v, %v; want error %v", got, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, ask(t, h, v, req)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOldObjectIsTheTruth: the review holds the old object. So the guard refuses a second next CA although the view
// has not seen the first one.
func TestOldObjectIsTheTruth(t *testing.T) {
	stable := newWorld(t)
	distributing := stable.clone().distribute()
	second := stable.clone().distribute()
	v := &view{cached: stable.sources(), live: stable.sources()}
	got := ask(t, newHandler(t, v), v, request(t, distributing.secrets["service-signer"], second.secrets["service-signer"]))
	// Both CAs have the same name.
	want := answer{Code: 403, Invariants: []string{"ContentDecides", "OneRotation"}, LiveReads: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// TestNamespaceThatIsNotKnownYet: reviews wait until the view knows a namespace, whose first configuration may be new.
func TestNamespaceThatIsNotKnownYet(t *testing.T) {
	w := newWorld(t)
	v := viewOf(w)
	v.unknown = context.DeadlineExceeded
	for _, object := range []runtime.Object{w.secrets["service-server"], w.configMaps["service-ca-bundle"], w.config} {
		if got, err := newHandler(t, v).review(t.Context(), request(t, object, nil)); !errors.Is(err, errNotSynced) {
			t.Errorf("%T: got %v, %v; want error %v", object, got, err, errNotSynced)
		}
	}
	pod := request(t, w.secrets["service-server"], nil)
	pod.Resource.Resource = "pods"
	if _, err := newHandler(t, v).review(t.Context(), pod); err != nil {
		t.Errorf("what is of no concern waits: %v", err)
	}
}

// TestUnmanagedNamespace: the guard ignores a namespace that has not opted in. It judges nothing, waits for nothing and
// reads nothing. The exception is a new record, which would count as soon as the namespace opts in.
func TestUnmanagedNamespace(t *testing.T) {
	w := newWorld(t)
	v := viewOf(w)
	v.unmanaged, v.unknown = true, context.DeadlineExceeded
	api := apifake.New(t, clocktesting.NewFakePassiveClock(now), namespaceOf(false))
	handler, err := New(Config{Inventory: v, Client: api.Client, RecordWriters: []string{"certrotation"}})
	if err != nil {
		t.Fatal(err)
	}
	broken := w.config.DeepCopy()
	broken.Spec.TrustDomains = nil
	roster := w.roster().records[record.RosterName("service")]
	for _, tc := range []struct {
		name         string
		old, changed runtime.Object
		want         int32
	}{
		{name: "signer deleted", old: w.secrets["service-signer"]},
		{name: "bundle deleted", old: w.configMaps["service-ca-bundle"]},
		{name: "configuration that cannot be", changed: broken},
		{name: "configuration deleted", old: w.config},
		{name: "record deleted", old: roster},
		{name: "record planted", changed: roster, want: 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ask(t, handler, v, request(t, tc.old, tc.changed)).Code); diff != "" {
				t.Errorf("code (-want +got):\n%s", diff)
			}
		})
	}
	if v.liveReads > 0 || len(api.Actions()) > 0 {
		t.Errorf("%d live reads and the requests %v, want none", v.liveReads, api.Actions())
	}
}

func TestNamespaceDeletionIsNeverBlocked(t *testing.T) {
	w := newWorld(t).distribute().roster()
	for _, tc := range []struct {
		name       string
		namespaces []runtime.Object
		unread     bool
		want       int32
	}{
		{name: "active", namespaces: []runtime.Object{namespaceOf(false)}, want: 403},
		{name: "terminating as far as anybody knows, and cannot be read", namespaces: []runtime.Object{namespaceOf(true)}, unread: true, want: 403},
		{name: "terminating", namespaces: []runtime.Object{namespaceOf(true)}},
		{name: "gone"},
	} {
		for name, object := range map[string]runtime.Object{
			"signer":        w.secrets["service-signer"],
			"bundle":        w.configMaps["service-ca-bundle"],
			"configuration": w.config,
			"roster":        w.records["roster.service"],
		} {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				v := viewOf(w)
				req := request(t, object, nil)
				req.Name, req.UserInfo.Username = "", "system:kube-controller-manager"
				api := apifake.New(t, clocktesting.NewFakePassiveClock(now), tc.namespaces...)
				if tc.unread {
					api.ReadFault = func(*apifake.Request) apifake.Fault { return apifake.FailedRead }
				}
				if got := ask(t, newHandlerOf(t, v, api), v, req); got.Code != tc.want {
					t.Errorf("got code %d, want %d", got.Code, tc.want)
				}
			})
		}
	}
}
