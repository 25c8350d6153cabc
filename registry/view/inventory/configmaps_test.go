// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/test/apifake"
)

// withholdConfigMaps makes every list of ConfigMaps fail until the returned function is called.
func (c *cluster) withholdConfigMaps() (release func()) {
	return c.befalls(apifake.Unavailable, func(r *apifake.Request) bool { return r.Verb == "list" && r.Resource.Resource == "configmaps" })
}

// start starts the Inventory for the duration of the test, without waiting for it.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		c.Wait()
	})
	c.Start(ctx)
	synctest.Wait()
}

// retried is longer than any pause between two attempts to list.
const retried = 2 * time.Minute

func TestNamespaceIsNotKnownBeforeItsConfigMaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := authority(t, "ca")
		c := newCluster(t, configuration("config", webConfig), pairSecret(t, "web-signer", ca), bundle("web-bundle", ca.Certificate))
		release := c.withholdConfigMaps()
		c.start(t)
		if c.HasSynced() || c.Namespace(testNamespace) != nil || c.Sources(testNamespace) != nil || len(c.Namespaces()) != 0 {
			t.Fatalf("the namespace is known before its ConfigMaps: %t, %v, %v", c.HasSynced(), c.Namespaces(), c.Sources(testNamespace))
		}
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Await(waiting, testNamespace); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await() = %v before the ConfigMaps are listed, want the end of its context", err)
		}
		c.taken()
		release()
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Await(t.Context(), testNamespace); err != nil {
			t.Errorf("Await() = %v", err)
		}
		if got := c.taken(); len(got) != 1 || got[0] != testNamespace {
			t.Errorf("announced %q, want the namespace that is known now", got)
		}
		if d := c.Namespace(testNamespace).Domain("web"); !c.HasSynced() || len(d.Bundle.Anchors) != 1 {
			t.Errorf("synced: %t, bundle: %+v", c.HasSynced(), d.Bundle)
		}
	})
}

func TestLaterNamespaceHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		c.run(t)
		release := c.withholdConfigMaps()
		second := configuration("config", webConfig)
		second.Namespace = "elsewhere"
		c.put(t, second)
		synctest.Wait()
		if !c.HasSynced() || c.Namespace(testNamespace) == nil {
			t.Error("the first namespace waits for the second")
		}
		if c.Namespace("elsewhere") != nil || c.Sources("elsewhere") != nil {
			t.Error("the second namespace is known before its ConfigMaps")
		}
		if err := c.Await(t.Context(), "nowhere"); err != nil {
			t.Errorf("Await() of a namespace without a configuration = %v", err)
		}
		release()
		if err := c.Await(t.Context(), "elsewhere"); err != nil || c.Namespace("elsewhere") == nil {
			t.Errorf("Await() = %v, and the namespace is %v", err, c.Namespace("elsewhere"))
		}
	})
}

// TestConfigMapsAreReadWhereTheyAreNeeded counts the watches of ConfigMaps. synctest and goleak detect leaked
// ones.
func TestConfigMapsAreReadWhereTheyAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := configMap("x", nil)
		far.Namespace = "elsewhere"
		c := newCluster(t, configuration("config", webConfig), configuration("second", disjointConfig("other")), far)
		c.run(t)
		watches := func() int {
			var n int
			for _, action := range c.api.Actions() {
				if action.GetResource().Resource == "configmaps" && action.GetNamespace() != testNamespace {
					t.Errorf("%s of ConfigMaps in namespace %q", action.GetVerb(), action.GetNamespace())
				}
				if action.Matches("watch", "configmaps") {
					n++
				}
			}
			c.api.ForgetActions()
			return n
		}
		drop := func(name string) {
			c.drop(t, configuration(name, webConfig))
			time.Sleep(retried) //nolint:forbidigo // the clock of the bubble
			synctest.Wait()
		}
		if got := watches(); got != 1 {
			t.Errorf("%d watches, want one for the namespace", got)
		}
		drop("config")
		if c.Namespace(testNamespace) == nil || watches() != 0 {
			t.Error("the loss of one configuration of two has an effect")
		}
		c.taken()
		drop("second")
		if got := c.taken(); len(got) != 1 || c.Namespace(testNamespace) != nil || len(c.Namespaces()) != 0 {
			t.Errorf("announced %q, known are %v", got, c.Namespaces())
		}
		c.put(t, configMap("unseen", nil))
		time.Sleep(retried) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if got := c.taken(); len(got) != 0 || watches() != 0 {
			t.Errorf("the ConfigMaps are still watched: announced %q", got)
		}
		c.put(t, configuration("third", webConfig))
		synctest.Wait()
		if s := c.Sources(testNamespace); watches() != 1 || s == nil || s.ConfigMaps["unseen"] == nil {
			t.Errorf("the ConfigMaps are not watched again: %+v", s)
		}
	})
}

func TestAwaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		c.withholdConfigMaps()
		ctx, cancel := context.WithCancel(t.Context())
		c.Start(ctx)
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- c.Await(t.Context(), testNamespace) }()
		synctest.Wait()
		c.drop(t, configuration("config", webConfig))
		if err := <-ended; err != nil {
			t.Errorf("Await() = %v for a namespace that lost its configuration, want nil", err)
		}
		if !c.HasSynced() {
			t.Error("a namespace that lost its configuration is waited for")
		}
		c.put(t, configuration("again", webConfig))
		synctest.Wait()
		cancel()
		c.Wait()
		if err := c.Await(t.Context(), testNamespace); !errors.Is(err, context.Canceled) {
			t.Errorf("Await() = %v after the end of everything, want context.Canceled", err)
		}
	})
}

func TestLiveReadsConfigMapsWithoutConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, bundle("web-bundle"))
		c.run(t)
		s, err := c.Live(t.Context(), testNamespace)
		if err != nil || s.ConfigMaps["web-bundle"] == nil {
			t.Errorf("Live() = %+v, %v", s, err)
		}
		for _, action := range c.api.Actions() {
			if action.GetResource() == corev1.SchemeGroupVersion.WithResource("configmaps") && action.GetNamespace() != testNamespace {
				t.Errorf("%s of ConfigMaps in namespace %q", action.GetVerb(), action.GetNamespace())
			}
		}
	})
}
