// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
)

// HeldByAll returns the sorted fingerprints of the anchors that every entry of a target holds, or why that proves
// nothing. With an empty entry, kube-apiserver trusts the machine's anchors; with an unreadable one, none.
func HeldByAll(entries []Entry) (anchors []pki.Fingerprint, failure string) {
	if len(entries) == 0 {
		return nil, "it has no caBundle by which kube-apiserver would verify a server: give it one, or take it out of bundle.injectInto"
	}
	for i := range entries {
		of := entries[i].subject()
		switch e := &entries[i]; {
		case e.Fault != "":
			return nil, fmt.Sprintf("the caBundle%s cannot be read: %s", of, e.Fault)
		case len(e.Anchors) == 0:
			return nil, fmt.Sprintf("the caBundle%s is empty: it was not injected yet; if that lasts, an event on the object says why", of)
		}
	}
	for _, anchor := range entries[0].Anchors {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return !slices.ContainsFunc(e.Anchors, anchor.Equal) }) {
			anchors = append(anchors, anchor.Fingerprint)
		}
	}
	slices.Sort(anchors)
	return slices.Compact(anchors), ""
}

func (e *Entry) subject() string {
	if e.Name == "" {
		return ""
	}
	return " of its webhook " + e.Name
}
