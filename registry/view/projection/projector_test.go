// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/component-base/metrics"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view"
	"certrotation.dev/registry/view/inventory"
)

// fakeInventory holds one namespace.
type fakeInventory struct {
	mu     sync.Mutex
	known  *inventory.Namespace
	listen func(string)
}

func (f *fakeInventory) OnChange(fn func(string))          { f.listen = fn }
func (f *fakeInventory) WaitForSync(context.Context) error { return nil }
func (f *fakeInventory) Namespaces() []string              { return []string{"ns"} }
func (f *fakeInventory) Sources(string) *inventory.Sources { return nil }
func (f *fakeInventory) Namespace(string) *inventory.Namespace {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

func (f *fakeInventory) set(known *inventory.Namespace) {
	f.mu.Lock()
	f.known = known
	f.mu.Unlock()
	f.listen("ns")
}

// fakeStore records the changes as KEY or -KEY.
type fakeStore struct {
	mu     sync.Mutex
	got    []string
	fail   int
	synced bool
}

func (f *fakeStore) Apply(changes []view.Change) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail > 0 {
		f.fail--
		return 0, errors.New("no epoch")
	}
	for _, change := range changes {
		sign := ""
		if change.Object == nil {
			sign = "-"
		}
		f.got = append(f.got, sign+change.Key)
	}
	return 1, nil
}

func (f *fakeStore) MarkSynced() { f.synced = true }

func (f *fakeStore) take() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := strings.Join(f.got, " ")
	f.got = nil
	return out
}

func TestProjector(t *testing.T) {
	w := newWorld(t)
	// synctest starts its clock in 2000 and the certificates are of 2030, so the assessment tells which are
	// usable.
	synctest.Test(t, func(t *testing.T) {
		known := &inventory.Namespace{Name: "ns", Domains: []*trust.Domain{w.domain}}
		source := &fakeInventory{known: known}
		certificates, bundles := &fakeStore{}, &fakeStore{}
		recheck, usable := time.Now().Add(24*time.Hour), true
		registry := metrics.NewKubeRegistry()
		p, err := New(Config{
			Inventory: source, Certificates: certificates, Bundles: bundles, Register: registry.Register,
			Assess: func(_ *trust.Domain, now time.Time) *trust.Assessment {
				out := *w.assessment
				out.Leaves = []trust.LeafAssessment{w.assessment.Leaves[0]}
				out.Leaves[0].Usable = usable && !now.After(recheck)
				if !now.After(recheck) {
					out.Recheck = recheck
				}
				return &out
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		expect := func(what, wantCertificates, wantBundles string) {
			t.Helper()
			synctest.Wait()
			got := []string{certificates.take(), bundles.take()}
			if diff := cmp.Diff([]string{wantCertificates, wantBundles}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}

		expect("first pass", "ns/server ns/signer", "ns/bundle")
		if !certificates.synced || !bundles.synced {
			t.Error("the stores are not marked as synced")
		}
		source.set(known)
		expect("nothing new", "", "")

		<-time.After(24*time.Hour + time.Second)
		expect("a deadline has passed", "ns/server", "")

		replaced := *w.domain
		replaced.Signer.UID = "another"
		source.set(&inventory.Namespace{Name: "ns", Domains: []*trust.Domain{&replaced}})
		expect("a source was replaced", "-ns/signer ns/signer", "")

		certificates.mu.Lock()
		certificates.fail = 2
		certificates.mu.Unlock()
		source.set(nil)
		<-time.After(time.Minute)
		expect("the configuration is gone, after failures", "-ns/server -ns/signer", "-ns/bundle")

		if families, err := registry.Gather(); err != nil || len(families) == 0 {
			t.Errorf("%d metrics, %v", len(families), err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
