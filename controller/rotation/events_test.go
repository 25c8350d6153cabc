// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"slices"
	"strings"
	"testing"
)

// TestEventsOfLibraryGo: tools that watch for the events of library-go find the same reasons and message prefixes.
func TestEventsOfLibraryGo(t *testing.T) {
	w, c := settled(t)
	requestRotation(w)
	w.settle(c)
	for _, want := range []string{
		`Normal SignerUpdateRequired Secret/web-signer: "web-signer" in "demo" requires a new signing cert/key pair: its rotation was requested`,
		`Normal TargetUpdateRequired Secret/web-server: "web-server" in "demo" requires a new target cert/key pair: it does not exist`,
		`Normal CABundleUpdateRequired ConfigMap/web-bundle: "web-bundle" in "demo" requires a new cert: it lacks `,
	} {
		if !slices.ContainsFunc(w.events.all, func(e string) bool { return strings.HasPrefix(e, want) }) {
			t.Errorf("no event begins with %s:\n%s", want, strings.Join(w.events.all, "\n"))
		}
	}
}
