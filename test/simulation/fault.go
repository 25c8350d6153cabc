// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import "certrotation.dev/test/apifake"

// writeFaults are the faults of a write. A permanent refusal is separate ([server.refuses]).
func writeFaults() []apifake.Fault {
	return []apifake.Fault{
		apifake.Conflict, apifake.InternalError, apifake.TimeoutBeforeWrite, apifake.TimeoutAfterWrite, apifake.CrashBeforeWrite, apifake.CrashAfterWrite,
	}
}
