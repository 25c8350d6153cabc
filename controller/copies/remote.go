// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/remote"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const (
	// resync is how often a copy in another cluster is read: no watch tells of changes there. resyncSpread is the part of
	// it by which it may take longer.
	resync       = 10 * time.Minute
	resyncSpread = 0.2
	// remoteTimeout bounds the work on one copy in another cluster.
	remoteTimeout = 30 * time.Second
)

// reconcileRemote reconciles a copy in another cluster. Nothing is read there as long as nothing has changed here and no
// resync is due.
func (c *Controller) reconcileRemote(ctx context.Context, k key) error {
	bounded, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	err := c.visit(bounded, k)
	silent := remote.SilentOf(err)
	if silent == nil {
		return err
	}
	c.report(k, told(err))
	c.remotes.AddAfter(k, silent.Until.Sub(c.clock.Now()))
	return nil
}

func (c *Controller) visit(ctx context.Context, k key) error {
	known := c.memory.get(k)
	if known.cluster == nil {
		c.memory.forget(k)
		return nil
	}
	t := c.task(k)
	if t == nil {
		defer c.keepClusters(k.from)
		return c.retireRemote(ctx, k, known.cluster)
	}
	a := t.assess(known)
	blocked := len(a.Blockers) > 0
	if c.isChecked(known) && (blocked || known.wanted == t.wanted(a)) {
		c.remotes.AddAfter(k, known.check.Sub(c.clock.Now()))
		c.leave(t, a, heldBy(a))
		return nil
	}
	var err error
	if t.to, err = c.clusters.Client(ctx, k.from, known.cluster); err != nil {
		return c.unconnected(k, err)
	}
	if known.kubeconfig != known.cluster.Version {
		// It may be another cluster, where nothing is known yet.
		c.memory.update(k, func(s *state) { s.wanted, s.anchors = "", nil })
	}
	if blocked {
		permitted, err := c.ask(ctx, t, live)
		if err != nil || !permitted {
			return err
		}
		c.leave(t, a, heldBy(a))
	} else if err := c.follow(ctx, t); err != nil {
		return err
	}
	c.checked(k, known.cluster.Version)
	return nil
}

// keepClusters drops the clients of a namespace that no copy needs.
func (c *Controller) keepClusters(namespace string) {
	needed := c.memory.clusters(namespace)
	c.clusters.Keep(namespace, func(cluster string) bool { return needed[cluster] })
}

// heldBy is why a copy differs from its source, "" if it does not.
func heldBy(a *trust.CopyAssessment) string {
	if len(a.Blockers) > 0 {
		return waitsFor(a.Blockers)
	}
	return keeps(a)
}

// isChecked reports whether a copy was read with the kubeconfig as it is, and no resync is due.
func (c *Controller) isChecked(s state) bool {
	return c.clock.Now().Before(s.check) && s.kubeconfig == s.cluster.Version
}

// checked notes that a copy was read, and enqueues its resync. Leaves wait for what is now known of a bundle.
func (c *Controller) checked(k key, kubeconfig string) {
	in := wait.Jitter(resync, resyncSpread)
	c.memory.update(k, func(s *state) { s.check, s.kubeconfig = c.clock.Now().Add(in), kubeconfig })
	c.remotes.AddAfter(k, in)
	if k.kind == configv1alpha1.CopyConfigMap {
		c.add(c.memory.inCluster(k.from, k.cluster, configv1alpha1.CopySecret)...)
	}
}

// unconnected reports why there is no client of a cluster.
func (c *Controller) unconnected(k key, err error) error {
	if unusable, ok := errors.AsType[*remote.UnusableError](err); ok {
		err = obstruct("%s", unusable.Text)
	}
	c.report(k, told(err))
	return err
}

// retireRemote takes back a copy in another cluster. If the configuration does not name the cluster any more, the copy
// stays known until the cluster answers, or until its Secret is deleted.
func (c *Controller) retireRemote(ctx context.Context, k key, of *inventory.Cluster) error {
	n := c.inventory.Namespace(k.from)
	if n != nil && n.Clusters[k.cluster] != nil {
		of = n.Clusters[k.cluster]
	} else if n != nil {
		// Its version is not followed any more.
		last := *of
		last.Version, of = "", &last
	}
	to, err := c.clusters.Client(ctx, k.from, of)
	if unusable, ok := errors.AsType[*remote.UnusableError](err); ok && unusable.Missing && (n == nil || n.Clusters[k.cluster] == nil) {
		c.memory.forget(k)
		return nil
	}
	if err != nil {
		return c.unconnected(k, err)
	}
	return c.retire(ctx, k, to)
}

// bundlesBefore are the copies of a domain's bundle that must hold the CA of a leaf before its copy in the same cluster
// does. In this cluster there are none: what reads copies here takes part in the protocol, see doc.go.
func (c *Controller) bundlesBefore(n *inventory.Namespace, leaf *configv1alpha1.Copy, d *trust.Domain) []trust.BundleCopy {
	if leaf.Cluster == "" {
		return nil
	}
	var out []trust.BundleCopy
	for i := range n.Copies {
		cp := &n.Copies[i]
		if cp.Cluster != leaf.Cluster || cp.Kind != configv1alpha1.CopyConfigMap || cp.Name != d.Bundle.Name {
			continue
		}
		k := keyOf(n.Name, cp)
		b := trust.BundleCopy{Object: fmt.Sprintf("%s/%s in %s", k.kind, k.name, k.place())}
		// After a change of the kubeconfig it may be another cluster.
		if s := c.memory.get(k); s.cluster != nil && s.kubeconfig == s.cluster.Version {
			b.Anchors = s.anchors
		}
		out = append(out, b)
	}
	return out
}

// told is the text of an error for events. That of a cluster that does not answer is the same at each attempt.
func told(err error) string {
	if silent := remote.SilentOf(err); silent != nil {
		return silent.Error()
	}
	return err.Error()
}
