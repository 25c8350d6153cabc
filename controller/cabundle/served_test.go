// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/test/apifake"
)

// running runs a controller in a bubble until end is called.
func running(t *testing.T, unserved apifake.Fault, change func(*world)) (w *world, c *Controller, end func()) {
	t.Helper()
	w = newWorld(t, time.Now())
	w.unserved = unserved
	w.rotate()
	if change != nil {
		change(w)
	}
	c = w.injector(func(cfg *Config) { cfg.Clock = clock.RealClock{} })
	ctx, cancel := context.WithCancel(w.ctx())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	c.NamespaceChanged(home)
	synctest.Wait()
	return w, c, func() {
		cancel()
		<-done
		w.end(c)
	}
}

func pass(long time.Duration) {
	time.Sleep(long) //nolint:forbidigo // the clock of the bubble
	synctest.Wait()
}

// unname removes the ClusterTrustBundle from the configuration.
func unname(w *world) {
	cfg := w.configuration()
	cfg.Generation++
	bundle := &cfg.Spec.TrustDomains[0].Bundle
	bundle.InjectInto = slices.DeleteFunc(bundle.InjectInto, func(t configv1alpha1.InjectionTarget) bool { return t.Kind == configv1alpha1.InjectTrustBundle })
	w.put(cfg)
}

// TestKindThatIsNotServed: an event on the configuration names the problem, and other kinds are still served. The
// targets are found once the kind is served.
func TestKindThatIsNotServed(t *testing.T) {
	for name, test := range map[string]struct {
		fault apifake.Fault
		// said is a part of the event.
		said string
	}{
		"the API server does not have it": {apifake.NotServed, "RotationConfiguration/web: nothing is injected: the API server does not serve clustertrustbundles"},
		"there is no right to see it":     {apifake.Forbidden, "is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, c, end := running(t, test.fault, nil)
				defer end()
				w.register(guard, annotated(home+"/"+bundleName))
				pass(patience)
				if len(w.held(guard)) != 2 {
					t.Errorf("another kind holds %v", w.held(guard))
				}
				pass(time.Hour)
				if w.said(EventInjectionHeld) != 1 || w.said(test.said) != 1 || c.memory.held()[configurationKind] != 1 {
					t.Errorf("events %v, %v are held", w.events, c.memory.held())
				}
				if w.asked > 70 || w.asked < 50 {
					t.Errorf("asked %d times in an hour", w.asked)
				}
				w.register(trustBundle, annotated(home+"/"+bundleName))
				w.unserved = apifake.NoFault
				pass(lookAgain)
				if len(w.held(trustBundle)[""]) != 1 || w.said(EventInjectionResumed) != 1 || c.memory.held()[configurationKind] != 0 {
					t.Errorf("holds %v, events %v, %v are held", w.held(trustBundle), w.events, c.memory.held())
				}
				asked := w.asked
				pass(24 * time.Hour)
				if w.asked != asked {
					t.Errorf("asked %d times at rest", w.asked-asked)
				}
			})
		})
	}
}

// TestNobodyNamesTheKind: a kind that is not served is listed once, and again when a configuration names it.
func TestNobodyNamesTheKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var named *configv1alpha1.RotationConfiguration
		w, c, end := running(t, apifake.NotServed, func(w *world) {
			named = w.configuration()
			unname(w)
		})
		defer end()
		pass(24 * time.Hour)
		if w.asked != 1 || w.said("Injection") > 0 {
			t.Fatalf("asked %d times, events %v", w.asked, w.events)
		}
		named.ResourceVersion, named.Generation = "", 7
		w.put(named)
		c.NamespaceChanged(home)
		pass(patience)
		if w.asked != 2 || w.said("does not serve") != 1 {
			t.Errorf("asked %d times, events %v", w.asked, w.events)
		}
		unname(w)
		c.NamespaceChanged(home)
		pass(24 * time.Hour)
		if w.asked > 3 || w.said(EventInjectionResumed) != 1 || c.memory.held()[configurationKind] != 0 {
			t.Errorf("asked %d times, events %v, %v are held", w.asked, w.events, c.memory.held())
		}
	})
}

// TestAnswerThatFails: an error that leaves open whether the kind is served is retried, without an event.
func TestAnswerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, end := running(t, apifake.Unavailable, nil)
		defer end()
		pass(patience)
		w.unserved = apifake.NoFault
		w.register(trustBundle, annotated(home+"/"+bundleName))
		pass(lastRetry)
		if len(w.held(trustBundle)[""]) != 1 || w.said("Injection") > 0 {
			t.Errorf("holds %v, events %v", w.held(trustBundle), w.events)
		}
	})
}
