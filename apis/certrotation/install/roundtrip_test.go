// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"certrotation.dev/apis/certrotation"
)

func TestRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, Install, fill)
}

// fill has the custom functions for the types of the group. Decoding sets defaults for the member and the instance: an
// object without them does not survive the round trip.
func fill(runtimeserializer.CodecFactory) []any {
	return []any{
		func(ack *certrotation.Acknowledgement, c randfill.Continue) {
			c.FillNoCustom(ack)
			if ack.Member == "" {
				ack.Member = ack.Party
			}
			if ack.Instance == "" {
				ack.Instance = "pod"
			}
		},
		func(waiver *certrotation.Waiver, c randfill.Continue) {
			c.FillNoCustom(waiver)
			if waiver.Member == "" {
				waiver.Member = waiver.Party
			}
		},
	}
}
