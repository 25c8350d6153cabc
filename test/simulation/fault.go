// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import "certrotation.dev/test/apifake"

// writeFaults are what can befall a write. What is refused for ever is a misfortune of its own ([server.refuses]).
func writeFaults() []apifake.Fault {
	return []apifake.Fault{
		apifake.Conflict, apifake.InternalError, apifake.TimeoutBeforeWrite, apifake.TimeoutAfterWrite, apifake.CrashBeforeWrite, apifake.CrashAfterWrite,
	}
}
