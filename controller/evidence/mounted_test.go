// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// mounters is starters with a pod that mounts immutable objects named by their content.
type mounters struct{ *starters }

func newMounters(t *testing.T) *mounters {
	t.Helper()
	m := &mounters{newStarters(t)}
	p := &m.d.Parties[0]
	p.Kind, p.StartAssumed, p.Mounts = trust.Mounted, false, trust.Mounts{Trust: "trust", TrustKey: inventory.BundleKey, Leaves: []string{"tls"}}
	m.pod.CreationTimestamp = metav1.NewTime(started)
	m.pod.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Name: "web", VolumeMounts: []corev1.VolumeMount{{Name: "trust", MountPath: "/trust"}, {Name: "tls", MountPath: "/tls"}}}},
		Volumes: []corev1.Volume{
			{Name: "trust", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}},
		},
	}
	m.mount(m.bundle(m.active), m.secret(m.leaf))
	m.run("c1")
	return m
}

// bundle stores an immutable copy with these anchors.
func (m *mounters) bundle(anchors ...*pki.Pair) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: consenting(""), Immutable: new(true), Data: map[string]string{}}
	for _, ca := range anchors {
		cm.Data[inventory.BundleKey] += string(ca.Certificate.PEM())
	}
	cm.Name, cm.CreationTimestamp = "bundle-"+contenthash.OfConfigMap(cm)[:10], m.pod.CreationTimestamp
	m.put(cm)
	return cm
}

// secret stores an immutable copy of a leaf.
func (m *mounters) secret(leaf *pki.Pair) *corev1.Secret {
	key, err := leaf.KeyPEM()
	if err != nil {
		m.t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: consenting(""), Immutable: new(true), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		inventory.ActiveCertKey: leaf.CertPEM(), inventory.ActiveKeyKey: key,
	}}
	secret.Name, secret.CreationTimestamp = "leaf-"+contenthash.OfSecret(secret)[:10], m.pod.CreationTimestamp
	m.put(secret)
	return secret
}

func (m *mounters) mount(bundle *corev1.ConfigMap, leaf *corev1.Secret) {
	m.pod.Spec.Volumes[0].ConfigMap.Name, m.pod.Spec.Volumes[1].Secret.SecretName = bundle.Name, leaf.Name
}

// change edits the mounted objects.
func (m *mounters) change(edit func(bundle *corev1.ConfigMap, leaf *corev1.Secret)) {
	bundle, leaf := m.bundle(m.active), m.secret(m.leaf)
	edit(bundle, leaf)
	m.put(bundle)
	m.put(leaf)
}

// see refreshes the evidence of the pod and returns its observation.
func (m *mounters) see() trust.Observation {
	m.t.Helper()
	refreshed(m.t, m.collector, m.d, m.api)
	seen := m.d.Parties[0].Members[0].Observations
	if len(seen) != 1 || seen[0].Kind != trust.Mounted || seen[0].Address != m.d.Parties[0].Mounts.Place() || seen[0].Expires.Before(time.Now()) {
		m.t.Fatalf("recorded %+v", seen)
	}
	return seen[0]
}

// TestWhatAPodHasMounted changes something, and then observes the pod for the first time.
func TestWhatAPodHasMounted(t *testing.T) {
	later := metav1.NewTime(started.Add(time.Second))
	for name, tt := range map[string]struct {
		change  func(m *mounters)
		failure string
	}{
		"what there is":                    {change: func(*mounters) {}},
		"after a restart of its container": {change: func(m *mounters) { m.run("c2") }},
		"the published bundle is newer":    {change: func(m *mounters) { m.publish(m.active, m.next) }},
		"the bundle is gone":               {func(m *mounters) { m.drop(m.bundle(m.active)) }, "it mounts ConfigMap/bundle-"},
		"the leaf is gone":                 {func(m *mounters) { m.drop(m.secret(m.leaf)) }, "which does not exist"},
		"the bundle may change":            {func(m *mounters) { m.change(func(b *corev1.ConfigMap, _ *corev1.Secret) { b.Immutable = nil }) }, "which is not immutable"},
		"the leaf may change":              {func(m *mounters) { m.change(func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Immutable = nil }) }, "which is not immutable"},
		"the bundle is younger": {func(m *mounters) {
			m.change(func(b *corev1.ConfigMap, _ *corev1.Secret) { b.CreationTimestamp = later })
		}, "was made after the pod"},
		"the leaf is younger": {func(m *mounters) {
			m.change(func(_ *corev1.ConfigMap, s *corev1.Secret) { s.CreationTimestamp = later })
		}, "was made after the pod"},
		"the bundle has other content": {func(m *mounters) { m.change(func(b *corev1.ConfigMap, _ *corev1.Secret) { b.Data["more"] = "x" }) }, "does not end in a hash of its content"},
		"the leaf has other content": {func(m *mounters) {
			m.change(func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Data["more"] = []byte("x") })
		}, "does not end in a hash of its content"},
		"the leaf does not consent": {func(m *mounters) {
			m.change(func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Annotations = nil })
		}, "kubectl annotate -n " + testNamespace + " secret leaf-"},
		"the bundle is optional":   {func(m *mounters) { m.pod.Spec.Volumes[0].ConfigMap.Optional = new(true); m.run("c1") }, "is optional for ConfigMap/bundle-"},
		"it mounts something else": {func(m *mounters) { m.pod.Spec.Volumes[0].Name = "certs"; m.run("c1") }, "it has no volume trust"},
		"it is gone":               {func(m *mounters) { m.drop(m.pod) }, "no container that runs"},
		"another pod has its name": {func(m *mounters) { m.pod.UID = "uid-new"; m.put(m.pod) }, "no container that runs"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMounters(t)
			tt.change(m)
			got := m.see()
			if (got.Failure == "") != (tt.failure == "") || !strings.Contains(got.Failure, tt.failure) {
				t.Fatalf("failure %q, want one with %q", got.Failure, tt.failure)
			}
			want := trust.Observation{}
			if tt.failure == "" {
				want.Trusts, want.Presents = []pki.Fingerprint{m.active.Certificate.Fingerprint}, []pki.Fingerprint{m.leaf.Certificate.Fingerprint}
			}
			if diff := cmp.Diff(want, trust.Observation{Trusts: got.Trusts, Presents: got.Presents}); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			written := writes(m.api)
			if again := m.see(); again.Failure != got.Failure || writes(m.api) != written {
				t.Errorf("written again, and nothing has changed: %+v", again)
			}
		})
	}
}

// TestWhatAPodHasMountedStays: the mounted content is read once, whatever happens to the objects later. It proves
// nothing for other volumes or for the next pod.
func TestWhatAPodHasMountedStays(t *testing.T) {
	m := newMounters(t)
	first := m.see()
	m.reads()
	m.drop(m.bundle(m.active))
	m.drop(m.secret(m.leaf))
	m.run("c2")
	m.reads()
	if second := m.see(); second.Failure != "" || !cmp.Equal(first.Trusts, second.Trusts) || !cmp.Equal(first.Presents, second.Presents) || second.Instance == first.Instance {
		t.Errorf("when the objects are gone and a container was started again: %+v", second)
	}
	if diff := cmp.Diff([]string{"get pods"}, m.reads()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	m.d.Parties[0].Mounts.TrustKey = "ca.crt"
	if got := m.see(); !strings.Contains(got.Failure, "does not exist") || len(got.Trusts) > 0 {
		t.Errorf("asked for another key: %+v", got)
	}

	// The next pod mounts the current objects.
	m.d.Parties[0].Mounts.TrustKey = inventory.BundleKey
	m.pod.UID = "uid-web-b"
	m.d.Parties[0].Members[0].Instance = "uid-web-b"
	m.d.Signer.Next = m.next.Certificate
	m.publish(m.active, m.next)
	m.mount(m.bundle(m.active, m.next), m.secret(m.leaf))
	m.run("c3")
	if got := m.see(); got.Failure != "" || len(got.Trusts) != 2 {
		t.Errorf("the next pod: %+v", got)
	}
	if left := untrusting(m.d); len(left) > 0 {
		t.Errorf("%v are not proven to trust the next CA", left)
	}
}

// TestAMountThatCannotBeRead: a failed read proves nothing about the pod, so nothing is recorded.
func TestAMountThatCannotBeRead(t *testing.T) {
	for _, resource := range []string{"configmaps", "secrets", "pods"} {
		t.Run(resource, func(t *testing.T) {
			m := newMounters(t)
			m.api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Resource.Resource == resource {
					return apifake.FailedRead
				}
				return apifake.NoFault
			}
			if err := m.collector.Refresh(t.Context(), m.d); err == nil || writes(m.api) > 0 {
				t.Errorf("error %v, %d writes", err, writes(m.api))
			}
		})
	}
}
