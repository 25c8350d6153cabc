// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/view/inventory"
)

// view is what a leader has in its caches. Secrets, ConfigMaps, Nodes, configurations, records and pods lag
// independently, as each informer has its own stream.
type view struct {
	leader                                                    *leader
	secrets, configMaps, nodes, configurations, records, pods *inventory.Sources
	// latest is assembled from the parts, built is its inventory.
	latest *inventory.Sources
	built  *inventory.Namespace
}

var _ rotation.Inventory = (*view)(nil)

// catchUp brings all caches up to date.
func (v *view) catchUp() {
	now := v.leader.world.api.latest()
	v.show(now)
}

func (v *view) show(s *inventory.Sources) {
	v.secrets, v.configMaps, v.nodes, v.configurations, v.records, v.pods = s, s, s, s, s, s
	v.latest = nil
}

func (v *view) caches() int {
	if v.leader.world.topology.pods {
		return 6
	}
	return 5
}

// upToDate reports whether all caches show the latest state.
func (v *view) upToDate() bool {
	now := v.leader.world.api.latest()
	return v.secrets == now && v.configMaps == now && v.nodes == now && v.configurations == now && v.records == now && (v.pods == now || v.caches() == 5)
}

// advance lets one cache catch up by some states. A cache never goes back.
func (v *view) advance(which, by int) {
	part := []**inventory.Sources{&v.secrets, &v.configMaps, &v.nodes, &v.configurations, &v.records, &v.pods}[which]
	states := v.leader.world.api.states
	at := 0
	for i, s := range states {
		if s == *part {
			at = i
		}
	}
	*part = states[min(at+by, len(states)-1)]
	v.latest = nil
}

// Sources implements rotation.Inventory.
func (v *view) Sources(string) *inventory.Sources {
	if v.latest == nil {
		v.latest = &inventory.Sources{
			Namespace: namespace, Secrets: v.secrets.Secrets, Others: v.secrets.Others,
			ConfigMaps: v.configMaps.ConfigMaps, Nodes: v.nodes.Nodes,
			Configurations: v.configurations.Configurations, Records: v.records.Records, Pods: v.pods.Pods, Selectors: v.pods.Selectors,
		}
		v.latest = shown(v.latest)
		v.built = inventory.Build(v.latest)
	}
	return v.latest
}

// Namespace implements rotation.Inventory.
func (v *view) Namespace(name string) *inventory.Namespace {
	v.Sources(name)
	return v.built
}

// Live implements rotation.Inventory. The lists are from different moments. Pods are listed for every selector, or
// not at all.
func (v *view) Live(context.Context, string) (*inventory.Sources, error) {
	w := v.leader.world
	if err := v.leader.read(); err != nil {
		return nil, err
	}
	secrets := w.api.latest()
	w.meanwhile(v.leader)
	rest := w.api.latest()
	live := &inventory.Sources{
		Namespace: namespace, Secrets: secrets.Secrets, Others: secrets.Others, ConfigMaps: rest.ConfigMaps, Nodes: rest.Nodes,
		Configurations: rest.Configurations, Records: rest.Records, Pods: rest.Pods, Selectors: rest.Selectors,
	}
	switch {
	case w.cachedPods:
		live.Pods, live.Selectors = v.pods.Pods, v.pods.Selectors
		return shown(live), nil
	case w.forbidden:
		return nil, apierrors.NewForbidden(podResource, "", errors.New("pods may not be listed"))
	}
	return listedNow(live), nil
}

func failure() error { return apierrors.NewInternalError(errors.New("injected")) }
