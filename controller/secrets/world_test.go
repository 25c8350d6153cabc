// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/apifake"
)

const (
	space    = "shoot--foo--bar"
	identity = "test"
	day      = 24 * time.Hour
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster with a controller.
type world struct {
	apifake.T

	ctx   context.Context
	api   *apifake.Server
	clock *testclock.FakePassiveClock
	// times are the argument of WithSecretNamesToTimes.
	times map[string]time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOf(t.Context(), t)
}

func worldOf(ctx context.Context, t apifake.T) *world {
	t.Helper()
	clock := testclock.NewFakePassiveClock(begin)
	return &world{T: t, ctx: ctx, api: apifake.New(t, clock), clock: clock, times: map[string]time.Time{}}
}

func (w *world) pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// instance returns a new one, as each reconciliation uses.
func (w *world) instance(options ...Option) *Instance {
	w.Helper()
	options = append([]Option{WithNamespaces(space), WithSecretNamesToTimes(w.times)}, options...)
	i, err := New(w.ctx, w.clock, w.api.Client.CoreV1(), identity, options...)
	if err != nil {
		w.Fatalf("make an instance: %v", err)
	}
	return i
}

func (w *world) generate(i *Instance, config kinds.Config, options ...GenerateOption) *corev1.Secret {
	w.Helper()
	secret, err := i.Generate(w.ctx, config, options...)
	if err != nil {
		w.Fatalf("%v", err)
	}
	return secret
}

func (w *world) cleanup(i *Instance) {
	w.Helper()
	if err := i.Cleanup(w.ctx); err != nil {
		w.Fatalf("%v", err)
	}
}

func (w *world) stored() map[string]*corev1.Secret {
	w.Helper()
	list, err := w.api.Client.CoreV1().Secrets("").List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.Fatalf("list secrets: %v", err)
	}
	out := map[string]*corev1.Secret{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.stored())) }

// has fails unless exactly these Secrets exist.
func (w *world) has(names ...string) {
	w.Helper()
	names = slices.Sorted(slices.Values(names))
	if got := w.names(); !slices.Equal(got, names) {
		w.Fatalf("there are %q, want %q", got, names)
	}
}

// put stores a Secret as another client would.
func (w *world) put(secret *corev1.Secret) {
	w.Helper()
	if err := w.api.Put(secret); err != nil {
		w.Fatalf("put %s: %v", secret.Name, err)
	}
}

// requests returns the requests since the last call, as "verb resource".
func (w *world) requests() []string {
	var out []string
	for _, action := range w.api.Actions() {
		out = append(out, action.GetVerb()+" "+action.GetResource().Resource)
	}
	w.api.ForgetActions()
	return out
}

// mount puts a pod that mounts Secrets.
func (w *world) mount(pod string, secrets ...string) {
	w.Helper()
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: pod}}
	for at, secret := range secrets {
		o.Spec.Volumes = append(o.Spec.Volumes, corev1.Volume{
			Name:         fmt.Sprintf("v%d", at),
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}},
		})
	}
	if err := w.api.Put(o); err != nil {
		w.Fatalf("put pod %s: %v", pod, err)
	}
}

// The configurations of most tests. ECDSA keys are fast to make.
func authority(name string) *kinds.CertificateSecretConfig {
	return &kinds.CertificateSecretConfig{Name: name, CommonName: name, CertType: kinds.CACert, Key: pki.ECDSAP256}
}

func leaf(name string, of kinds.CertType) *kinds.CertificateSecretConfig {
	return &kinds.CertificateSecretConfig{Name: name, CommonName: name + "-user", DNSNames: []string{name}, CertType: of, Key: pki.ECDSAP256}
}

func password(name string) *kinds.BasicAuthSecretConfig {
	return &kinds.BasicAuthSecretConfig{Name: name, Format: kinds.BasicAuthFormatNormal, Username: "admin", PasswordLength: 8}
}

// certificatesOf returns the certificates under a data key of a Secret.
func (w *world) certificatesOf(secret *corev1.Secret, key string) []*pki.Certificate {
	w.Helper()
	chain, err := pki.ParseChain(secret.Data[key])
	if err != nil {
		w.Fatalf("%s of %s: %v", key, secret.Name, err)
	}
	return chain
}

func (w *world) signedBy(leaf, ca *corev1.Secret) bool {
	w.Helper()
	return w.certificatesOf(leaf, "tls.crt")[0].SignedBy(w.certificatesOf(ca, "ca.crt")[0])
}

func (w *world) step(plan edition.Plan, object string) edition.Step {
	w.Helper()
	at := slices.IndexFunc(plan, func(s edition.Step) bool { return s.Object.Name == object })
	if at < 0 {
		w.Fatalf("the plan has nothing of %s:\n%s", object, plan)
	}
	return plan[at]
}

func objectNames(plan edition.Plan) string {
	var out []string
	for i := range plan {
		out = append(out, plan[i].Object.Name)
	}
	return strings.Join(out, " ")
}
