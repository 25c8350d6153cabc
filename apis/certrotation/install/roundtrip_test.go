// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"

	certrotationfuzzer "certrotation.dev/apis/certrotation/fuzzer"
)

func TestRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, Install, certrotationfuzzer.Funcs)
}
