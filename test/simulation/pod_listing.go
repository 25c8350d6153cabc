// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"certrotation.dev/registry/view/inventory"
)

// shown returns what informers show of a state: a pod only after one of its selectors was listed.
func shown(s *inventory.Sources) *inventory.Sources {
	if len(s.Pods) == 0 || !unlisted(s) {
		return s
	}
	var known []labels.Selector
	for text := range s.Selectors {
		if selector, err := labels.Parse(text); err == nil {
			known = append(known, selector)
		}
	}
	out := *s
	out.Pods = map[string]*inventory.Pod{}
	for name, pod := range s.Pods {
		if slices.ContainsFunc(known, func(selector labels.Selector) bool { return selector.Matches(labels.Set(pod.Labels)) }) {
			out.Pods[name] = pod
		}
	}
	return &out
}

// unlisted reports whether a selector of the configuration was not listed.
func unlisted(s *inventory.Sources) bool {
	cfg := s.Configurations[configurationName]
	return cfg != nil && slices.ContainsFunc(cfg.Selectors, func(selector string) bool { return !s.Selectors[selector] })
}

// listedNow returns a state with the pods of all selectors, as a live read lists them.
func listedNow(s *inventory.Sources) *inventory.Sources {
	if !unlisted(s) {
		return s
	}
	out := *s
	out.Selectors = selectorsOf(s)
	return &out
}

func selectorsOf(s *inventory.Sources) map[string]bool {
	out := map[string]bool{}
	for _, selector := range s.Configurations[configurationName].Selectors {
		out[selector] = true
	}
	return out
}

// listing lists the pods of the configuration's selectors, or hides them for a while: as not listed yet, or as
// forbidden.
func (w *world) listing() bool {
	if w.unlisted() {
		w.lists()
		return true
	}
	if len(w.api.latest().Selectors) == 0 || !in(w.dice, 2, "pods are not listed") {
		return false
	}
	w.forbidden = in(w.dice, 2, "they may not be listed")
	w.say("pods are not listed any more (forbidden: %t)", w.forbidden)
	w.counts.event(podsUnlisted)
	w.api.putSelectors(nil)
	return true
}

func (w *world) unlisted() bool { return unlisted(w.api.latest()) }

func (w *world) lists() {
	w.forbidden = false
	if !w.topology.pods || !w.unlisted() {
		return
	}
	w.say("pods are listed")
	w.api.putSelectors(selectorsOf(w.api.latest()))
}

// putSelectors lists the pods of these selectors only.
func (s *server) putSelectors(selectors map[string]bool) {
	s.version++
	next := *s.latest()
	next.Selectors = selectors
	s.became(&next)
}
