// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzer fills the types of certrotation.dev with random values that survive a round trip through JSON.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"certrotation.dev/apis/certrotation"
)

// Funcs are the custom functions for the types of the group.
func Funcs(_ runtimeserializer.CodecFactory) []any {
	return []any{
		// Decoding defaults the member and the instance: an object without them does not survive the round trip.
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
