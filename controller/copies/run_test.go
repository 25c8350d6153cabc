// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/property"
)

// run runs a controller with its watches, until stop. clusters are the other clusters, nil for none.
func (w *world) run(clusters Clusters) (c *Controller, stop func()) {
	c = w.copies(func(cfg *Config) { cfg.Metadata, cfg.Clock, cfg.Clusters = w.api.Metadata, clock.RealClock{}, clusters })
	ctx, cancel := context.WithCancel(w.ctx())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	return c, func() {
		cancel()
		<-done
	}
}

// TestRunRestoresAtOnce runs the controller with its watches. A deleted copy is restored, and at rest nothing is
// read.
func TestRunRestoresAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldAt(t, webConfig, time.Now())
		w.rotate()
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble: as long as the rotation has taken
		c, stop := w.run(nil)
		c.NamespaceChanged(home)
		synctest.Wait()
		if !w.same() {
			t.Fatal("the copies are not there")
		}
		w.api.ForgetActions()
		w.wrote = nil
		c.NamespaceChanged(home)
		synctest.Wait()
		time.Sleep(time.Hour) //nolint:forbidigo // the clock of the bubble
		if w.reads() > 0 || len(w.wrote) > 0 {
			t.Errorf("%d reads and the writes %v at rest", w.reads(), w.wrote)
		}
		w.remove(away, w.secret(away, "client"))
		synctest.Wait()
		if !w.same() || len(w.wrote) != 1 {
			t.Errorf("not restored: writes %v", w.wrote)
		}
		// The destination withdraws its consent. No other event occurs.
		w.agree(away, "demo/ConfigMap/web-bundle")
		synctest.Wait()
		if !slices.Contains(w.wrote, gone[1]) {
			t.Errorf("not taken back: writes %v", w.wrote)
		}
		stop()
	})
}

// TestRunLooksAgainInTime: a leaf that becomes valid in an hour is copied then, without an event.
func TestRunLooksAgainInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldAt(t, webConfig, time.Now())
		w.rotate()
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble: as long as the rotation has taken
		c, stop := w.run(nil)
		c.NamespaceChanged(home)
		synctest.Wait()
		w.leafFrom(time.Now().Add(time.Hour))
		c.NamespaceChanged(home)
		synctest.Wait()
		if w.same() {
			t.Error("a leaf is copied that nobody accepts yet")
		}
		time.Sleep(time.Hour + time.Minute) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if !w.same() {
			t.Error("the leaf is not copied when its time has come")
		}
		stop()
	})
}

// leafFrom replaces the client's leaf by one of the signer that is valid from start on.
func (w *world) leafFrom(start time.Time) {
	w.t.Helper()
	signer, secret := w.secret(home, "web-signer"), w.secret(home, client)
	ca, err := pki.ParsePair(signer.Data[inventory.ActiveCertKey], signer.Data[inventory.ActiveKeyKey])
	if err != nil {
		w.t.Fatal(err)
	}
	profile := w.domain().Leaf(client).Policy.Profile
	profile.Backdate, profile.Validity = 0, 24*time.Hour
	leaf, err := ca.Issue(profile, start)
	if err != nil {
		w.t.Fatal(err)
	}
	w.fill(secret.Data, leaf)
	w.put(home, secret)
}

// TestRunFindsWhatIsNotWanted: after a restart, the controller finds an unwanted copy by its label.
func TestRunFindsWhatIsNotWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := settled(t)
		w.put(home, configuration(t, withoutCopies))
		_, stop := w.run(nil)
		synctest.Wait()
		if diff := cmp.Diff(append([]string{"delete configmaps demo/bundle-here"}, gone...), w.wroteSorted()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		stop()
	})
}

func TestRunEndsBeforeTheFirstList(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.copies(func(cfg *Config) { cfg.Metadata = w.api.Metadata })
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	c.Run(ctx)
}

// heldCopies returns the value of the metric.
func heldCopies(t *testing.T, c *Controller) float64 {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	c.metrics.register(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "certrotation_copies_held" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no metric")
	return 0
}

func TestLabelValue(t *testing.T) {
	if got := labelValue("demo", "web"); got != "demo.web" {
		t.Errorf("got %s", got)
	}
	property.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`)
		namespace, name := label.Draw(t, "namespace"), label.Draw(t, "name")+"."+label.Draw(t, "more")
		value := labelValue(namespace, name)
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("%s: %v", value, errs)
		}
		if labelValue(namespace, name+"x") == value {
			t.Errorf("two sources are called %s", value)
		}
	})
}

// TestPanic: a panic while working on one copy stops only this copy.
func TestPanic(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.copies(nil)
	c.inventory = nil
	if err := c.queue.Do(w.ctx(), key{from: home}); err == nil || !strings.Contains(err.Error(), "panic while working on demo") {
		t.Errorf("got %v", err)
	}
}
