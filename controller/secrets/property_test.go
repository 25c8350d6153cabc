// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/property"
)

// history is a long-lived controller with random events.
type history struct {
	*world

	// old is true if old authorities are kept. names are the requested secrets besides the authority.
	old   bool
	names map[string]kinds.CertType
	// data are the checksums of each object that ever existed.
	data map[types.UID]string
	// mounted are the Secrets that pods mount, by pod.
	mounted map[string]string
}

// TestHistories draws events in any order, with requests that fail anywhere:
//
//   - After a complete reconciliation, each leaf chains to the bundle of its authority, and ends no later than its
//     signer.
//   - Data never change, and a Secret that a pod mounts is never deleted.
//   - A second reconciliation writes nothing, see rests.
func TestHistories(t *testing.T) {
	t.Parallel()
	property.Check(t, func(rt *rapid.T) {
		h := &history{world: worldOf(t.Context(), rt), old: true, names: map[string]kinds.CertType{}, data: map[types.UID]string{}, mounted: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"reconcile": func(*rapid.T) { h.settle() },
			"fail": func(rt *rapid.T) {
				h.fail(rapid.SampledFrom(append(apifake.WriteFaults(), apifake.AlreadyExists)).Draw(rt, "fault"), rapid.IntRange(1, 4).Draw(rt, "write"))
			},
			"rotate":   func(*rapid.T) { h.times["ca"], h.old = h.clock.Now(), true },
			"complete": func(*rapid.T) { h.old = false },
			"ask for": func(rt *rapid.T) {
				types := []kinds.CertType{kinds.ServerCert, kinds.ClientCert, kinds.ServerClientCert}
				h.names[rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name")] = rapid.SampledFrom(types).Draw(rt, "type")
			},
			"forget": func(rt *rapid.T) { delete(h.names, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name")) },
			"wait":   func(rt *rapid.T) { h.pass(time.Duration(rapid.IntRange(1, 60).Draw(rt, "days")) * day) },
			"mount":  func(rt *rapid.T) { h.mountOne(rt) },
			"unmount": func(rt *rapid.T) {
				h.unmount(rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "pod"))
			},
			"": func(*rapid.T) { h.check() },
		})
	})
}

// once reconciles, and returns the errors.
func (h *history) once() (*Instance, error) {
	i, err := New(h.ctx, h.clock, h.api.Client.CoreV1(), identity, WithNamespaces(space), WithSecretNamesToTimes(h.times), WithCASecretAutoRotation())
	if err != nil {
		return nil, err
	}
	year := 365 * day
	options := []GenerateOption{Rotate(KeepOld)}
	if !h.old {
		options = append(options, IgnoreOldSecrets())
	}
	ca := authority("ca")
	ca.Validity = &year
	var failed error
	if _, err := i.Generate(h.ctx, ca, options...); err != nil {
		failed = err
	}
	for _, name := range []string{"a", "b", "c"} {
		if of, ok := h.names[name]; ok {
			config := leaf(name, of)
			config.Validity = &year
			if _, err := i.Generate(h.ctx, config, SignedByCA("ca")); err != nil {
				failed = err
			}
		}
	}
	if err := i.Cleanup(h.ctx); err != nil {
		failed = err
	}
	return i, failed
}

// settle reconciles until nothing fails, and once more.
func (h *history) settle() {
	i, err := h.once()
	if err != nil {
		h.Fatalf("%v", err)
	}
	bundle, _ := i.Get("ca")
	anchors := h.certificatesOf(bundle, "bundle.crt")
	for name := range h.names {
		secret, _ := i.Get(name)
		own := h.certificatesOf(secret, "tls.crt")[0]
		signed := false
		for _, anchor := range anchors {
			signed = signed || own.SignedBy(anchor) && !own.NotAfter.After(anchor.NotAfter)
		}
		if !signed || own.Expired(h.clock.Now()) {
			h.Fatalf("%s of %s until %s is signed by none of %d anchors", secret.Name, own.Issuer, own.NotAfter, len(anchors))
		}
	}
	h.rests(i)
}

// rests fails unless a second reconciliation writes nothing. It allows a third one if the first deleted the last
// leaf of an overtaken authority: the anchor is removed after it.
func (h *history) rests(first *Instance) {
	written := edition.Plan{}
	for range 2 {
		before := h.api.Writes()
		i, err := h.once()
		if err != nil {
			h.Fatalf("%v", err)
		}
		if h.api.Writes() == before {
			return
		}
		written = i.Plan().Of(edition.Create, edition.Change, edition.Delete)
		for _, step := range written {
			if _, ofBundle := edition.BundleOf(step.Name); !ofBundle && step.Name != "ca" || len(first.Plan().Of(edition.Delete)) == 0 {
				h.Fatalf("once more it writes\n%s", written)
			}
		}
	}
	h.Fatalf("it does not rest:\n%s", written)
}

func (h *history) fail(fault apifake.Fault, write int) {
	count := 0
	h.api.Fault = func(r *apifake.Request) apifake.Fault {
		if count++; count == write && (fault != apifake.AlreadyExists || r.Verb == "create") {
			return fault
		}
		return apifake.NoFault
	}
	// The reconciliation fails only if it has that many writes.
	_, _ = h.once()
	h.api.Fault = nil
	h.api.Revive()
}

func (h *history) mountOne(t *rapid.T) {
	names := slices.Sorted(maps.Keys(h.stored()))
	if len(names) == 0 {
		return
	}
	pod, secret := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pod"), rapid.SampledFrom(names).Draw(t, "secret")
	h.mount(pod, secret)
	h.mounted[pod] = secret
}

func (h *history) unmount(pod string) {
	if h.mounted[pod] == "" {
		return
	}
	if err := h.api.Drop(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: pod}}); err != nil {
		h.Fatalf("%v", err)
	}
	delete(h.mounted, pod)
}

// check what must hold at any time.
func (h *history) check() {
	stored := h.stored()
	for pod, name := range h.mounted {
		if stored[name] == nil {
			h.Fatalf("%s is gone, which the pod %s mounts", name, pod)
		}
	}
	for name, secret := range stored {
		checksum := edition.DataChecksum(secret.Data)
		if seen := h.data[secret.UID]; seen != "" && seen != checksum {
			h.Fatalf("the data of %s have changed", name)
		}
		h.data[secret.UID] = checksum
	}
}
