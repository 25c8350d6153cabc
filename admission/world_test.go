// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const demo = "mtls-demo"

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// configuration returns one with the preset mtls-service.
func configuration(clients ...string) *configv1alpha1.RotationConfiguration {
	return &configv1alpha1.RotationConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: configv1alpha1.SchemeGroupVersion.String(), Kind: configv1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: demo, Name: "certrotation", UID: "uid-of-certrotation", ResourceVersion: "1",
		},
		Spec: configv1alpha1.RotationConfigurationSpec{Preset: &configv1alpha1.Preset{
			Name: configv1alpha1.PresetMTLSService,
			MTLSService: &configv1alpha1.MTLSServicePreset{
				Name: "service", Clients: clients, ServerAddresses: []string{"127.0.0.1:9443"},
			},
		}},
	}
}

// world is a namespace with the preset mtls-service in which all certificates exist.
type world struct {
	t testing.TB
	// active signs all leaves. distribute makes next. foreign belongs to no trust domain.
	active, next, foreign *pki.Pair
	secrets               map[string]*corev1.Secret
	configMaps            map[string]*corev1.ConfigMap
	records               map[string]*configv1alpha1.RotationRecord
	// config is nil if the namespace has no configuration.
	config *configv1alpha1.RotationConfiguration
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, secrets: map[string]*corev1.Secret{}, configMaps: map[string]*corev1.ConfigMap{},
		records: map[string]*configv1alpha1.RotationRecord{}, config: configuration("a", "b"),
	}
	w.active = w.authority("service-signer@1", now)
	w.foreign = w.authority("somebody-else", now)
	w.secrets["service-signer"] = w.secret("service-signer", w.active)
	w.publish(w.active)
	for _, name := range leaves() {
		w.secrets[name] = w.leaf(name, w.active)
	}
	return w
}

// distribute begins a rotation: it makes next and publishes it.
func (w *world) distribute() *world {
	w.next = w.authority("service-signer@2", now)
	signer := w.secrets["service-signer"].DeepCopy()
	signer.Data[inventory.NextCertKey], signer.Data[inventory.NextKeyKey] = w.next.CertPEM(), w.key(w.next)
	w.secrets["service-signer"] = signer
	w.publish(w.active, w.next)
	for _, name := range leaves() {
		leaf := w.secrets[name].DeepCopy()
		leaf.Data[inventory.AuthorityKey] = w.bundle()
		w.secrets[name] = leaf
	}
	return w
}

func leaves() []string { return []string{"service-server", "service-client-a", "service-client-b"} }

func (w *world) bundle() []byte {
	return []byte(w.configMaps["service-ca-bundle"].Data[inventory.BundleKey])
}

// retire advances a rotation until only the removal of the old anchor is left.
func (w *world) retire() *world {
	w.distribute()
	signer := w.secret("service-signer", w.next)
	signer.Data[inventory.PreviousCertKey], signer.Data[inventory.PreviousKeyKey] = w.active.CertPEM(), w.key(w.active)
	w.secrets["service-signer"] = signer
	for _, name := range leaves() {
		w.secrets[name] = w.leaf(name, w.next)
	}
	return w.observe(w.active, w.next)
}

func (w *world) observe(anchors ...*pki.Pair) *world {
	for party, leaf := range map[string]string{"server": "service-server", "client-a": "service-client-a", "client-b": "service-client-b"} {
		o := trust.Observation{
			Instance: "process", Kind: trust.Acknowledgement, ObservedAt: now, StartedAt: now, Expires: now.Add(time.Hour),
		}
		if party == "server" {
			o.Kind, o.Address = trust.TLSProbe, "127.0.0.1:9443"
		}
		for _, ca := range anchors {
			o.Trusts = append(o.Trusts, ca.Certificate.Fingerprint)
			o.TrustedSubjects = append(o.TrustedSubjects, ca.Certificate.SubjectHash)
		}
		certs, err := pki.ParseChain(w.secrets[leaf].Data[corev1.TLSCertKey])
		if err != nil {
			w.t.Fatal(err)
		}
		o.Presents = []pki.Fingerprint{certs[0].Fingerprint}
		recorded, err := record.OfEvidence(demo, "service", party, party, []trust.Observation{o})
		if err != nil {
			w.t.Fatal(err)
		}
		recorded.TypeMeta = metav1.TypeMeta{APIVersion: configv1alpha1.SchemeGroupVersion.String(), Kind: "RotationRecord"}
		w.records[recorded.Name] = recorded
	}
	return w
}

func (w *world) publish(anchors ...*pki.Pair) {
	var pem strings.Builder
	published := make([]string, 0, len(anchors))
	for _, ca := range anchors {
		pem.Write(ca.CertPEM())
		published = append(published, fmt.Sprintf("%s=%s", ca.Certificate.Fingerprint, now.Format(time.RFC3339)))
	}
	bundle := configMap("service-ca-bundle", nil, map[string]string{inventory.BundleKey: pem.String()})
	bundle.Annotations = consent()
	bundle.Annotations[trust.AnnotationPublished] = strings.Join(published, " ")
	w.configMaps["service-ca-bundle"] = bundle
}

func (w *world) authority(name string, at time.Time) *pki.Pair {
	w.t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 5 * 365 * 24 * time.Hour}, at)
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

// leaf returns a leaf's Secret as the controller writes it.
func (w *world) leaf(name string, ca *pki.Pair) *corev1.Secret {
	w.t.Helper()
	usage := pki.ClientAuth
	profile := pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 365 * 24 * time.Hour}
	if name == "service-server" {
		usage = pki.ServerAuth
		profile.DNSNames = []string{"localhost", "service." + demo + ".svc"}
	}
	profile.Usages = []pki.Usage{usage}
	pair, err := ca.Issue(profile, now)
	if err != nil {
		w.t.Fatal(err)
	}
	secret := w.secret(name, pair)
	secret.Data[inventory.AuthorityKey] = w.bundle()
	return secret
}

func (w *world) secret(name string, pair *pki.Pair) *corev1.Secret {
	w.t.Helper()
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: demo, Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1",
			Annotations: map[string]string{
				trust.AnnotationNotBefore: pair.Certificate.NotBefore.Format(time.RFC3339),
				trust.AnnotationNotAfter:  pair.Certificate.NotAfter.Format(time.RFC3339),

				trust.AnnotationConfiguration: "certrotation",
			},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: w.key(pair)},
	}
}

func (w *world) key(pair *pki.Pair) []byte {
	w.t.Helper()
	pem, err := pair.KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	return pem
}

// consent returns the annotation by which objects consent to the configuration.
func consent() map[string]string {
	return map[string]string{trust.AnnotationConfiguration: "certrotation"}
}

func configMap(name string, labels, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1", Labels: labels, Annotations: consent()},
		Data:       data,
	}
}

type versioned interface {
	runtime.Object
	metav1.Object
}

// stored returns the object with a resource version that depends on its content.
func stored[T versioned](t testing.TB, object T) T {
	t.Helper()
	out := object.DeepCopyObject().(T)
	out.SetResourceVersion("")
	version := fnv.New32a()
	_, _ = version.Write(encode(t, out))
	out.SetResourceVersion(strconv.FormatUint(uint64(version.Sum32()), 10))
	return out
}

func encode(t testing.TB, object any) []byte {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (w *world) sources() *inventory.Sources {
	s := &inventory.Sources{Namespace: demo}
	for name, secret := range w.secrets {
		s = s.WithSecret(name, stored(w.t, secret))
	}
	for name, cm := range w.configMaps {
		s = s.WithConfigMap(name, stored(w.t, cm))
	}
	for name, r := range w.records {
		s = s.WithRecord(name, r)
	}
	if w.config != nil {
		s = s.WithConfiguration(w.config.Name, stored(w.t, w.config))
	}
	return s
}

// clone returns a copy of the world. Edits of the copy leave the original alone.
func (w *world) clone() *world {
	out := *w
	out.secrets, out.configMaps, out.records = maps.Clone(w.secrets), maps.Clone(w.configMaps), maps.Clone(w.records)
	return &out
}

// view is an Inventory of fixed sources. It counts live reads, which fail without live state.
type view struct {
	unsynced  bool
	unmanaged bool
	unknown   error
	cached    *inventory.Sources
	live      *inventory.Sources
	liveReads int
}

func (v *view) HasSynced() bool { return !v.unsynced }

func (v *view) Managed(string) bool { return !v.unmanaged }

func (v *view) Await(ctx context.Context, _ string) error {
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New("the wait has no deadline")
	}
	if v.unmanaged {
		return nil
	}
	return v.unknown
}

func (v *view) Namespace(namespace string) *inventory.Namespace {
	if s := v.Sources(namespace); s != nil {
		return inventory.Build(s)
	}
	return nil
}

func (v *view) Sources(namespace string) *inventory.Sources {
	if v.cached == nil || namespace != v.cached.Namespace {
		return nil
	}
	return v.cached
}

func (v *view) Live(ctx context.Context, namespace string) (*inventory.Sources, error) {
	v.liveReads++
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("the live read has no deadline")
	}
	if v.live == nil {
		return nil, fmt.Errorf("list secrets of %s: connection refused", namespace)
	}
	return v.live, nil
}

// viewOf returns an Inventory that is up to date.
func viewOf(w *world) *view { return &view{cached: w.sources(), live: w.sources()} }

// newHandler returns a guard over a view and a cluster with these namespaces. Only the user "controller" may write
// records.
func newHandler(t testing.TB, v *view, namespaces ...runtime.Object) *Handler {
	t.Helper()
	return newHandlerOf(t, v, apifake.New(t, clocktesting.NewFakePassiveClock(now), namespaces...))
}

// newHandlerOf is newHandler over an existing API server.
func newHandlerOf(t testing.TB, v *view, api *apifake.Server) *Handler {
	t.Helper()
	h, err := New(Config{
		Inventory: v, Client: api.Client, Clock: clocktesting.NewFakePassiveClock(now),
		RecordWriters: []string{"controller"}, Register: metrics.NewKubeRegistry().Register,
	})
	if err != nil {
		t.Fatal(err)
	}
	// No source in these tests delays a live read, but the machine may be slow.
	h.liveTimeout = time.Minute
	return h
}

// request returns the review request that kube-apiserver makes for an edit.
func request(t testing.TB, old, changed runtime.Object) *admissionv1.AdmissionRequest {
	t.Helper()
	req := &admissionv1.AdmissionRequest{
		UID: "review-1", Namespace: demo, Operation: admissionv1.Update,
		UserInfo: authenticationv1.UserInfo{Username: "admin"},
	}
	for _, side := range []struct {
		object runtime.Object
		raw    *runtime.RawExtension
	}{{old, &req.OldObject}, {changed, &req.Object}} {
		name, kind, resource := addressOf(side.object)
		if name == "" {
			continue
		}
		req.Name, req.Kind, req.Resource = name, kind, resource
		side.raw.Raw = encode(t, stored(t, side.object.(versioned)))
	}
	switch {
	case old == nil:
		req.Operation = admissionv1.Create
	case changed == nil:
		req.Operation = admissionv1.Delete
	}
	return req
}

// addressOf returns name, kind and resource of an object. The name is "" if the object is absent.
func addressOf(object runtime.Object) (string, metav1.GroupVersionKind, metav1.GroupVersionResource) {
	own := func(kind, resource string) (metav1.GroupVersionKind, metav1.GroupVersionResource) {
		group, version := configv1alpha1.GroupName, configv1alpha1.SchemeGroupVersion.Version
		return metav1.GroupVersionKind{Group: group, Version: version, Kind: kind},
			metav1.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	name, kind, resource := "", metav1.GroupVersionKind{Version: "v1"}, metav1.GroupVersionResource{Version: "v1"}
	switch o := object.(type) {
	case *corev1.Secret:
		kind.Kind, resource.Resource = "Secret", "secrets"
		if o != nil {
			name = cmp.Or(o.Name, o.GenerateName)
		}
	case *corev1.ConfigMap:
		kind.Kind, resource.Resource = "ConfigMap", "configmaps"
		if o != nil {
			name = o.Name
		}
	case *configv1alpha1.RotationConfiguration:
		kind, resource = own(configv1alpha1.Kind, "rotationconfigurations")
		if o != nil {
			name = o.Name
		}
	case *configv1alpha1.RotationRecord:
		kind, resource = own("RotationRecord", "rotationrecords")
		if o != nil {
			name = o.Name
		}
	}
	return name, kind, resource
}
