// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent acknowledges for a program in the same pod that does not do so itself. It watches the files that both have
// mounted, has the program reload them where it is told how, finds out what the program really has loaded, and reports that.
//
//	mounted files ──► changed ──► reload ──► handshake on localhost ──► what it presents and lists ──► acknowledge
//
// What it can prove. In a handshake a server presents a leaf, whose key it proves to have, and lists the authorities whose
// clients it accepts, by their subjects (trust.Listed says what a list proves). Of a program without such a port nothing can be
// seen: with Files the agent reports what was mounted when a reload succeeded, which is as true as the program's answer to
// that reload. What a program trusts as a client cannot be seen at all.
//
// Invariants:
//
//   - Nothing is acknowledged because it is mounted. Without a proof, or a reload that succeeded, there is no report.
//   - What a server shows is reported only if it presents a leaf of the mounted bundle, or one that was mounted: a port that
//     belongs to something else says nothing of the program.
//   - A program that was started again (another socket listens at its port, or it was away) is a process of its own: what was
//     seen before is not carried over.
//   - A content is reloaded once, unless the reload itself fails; then again, later and later. A program that shows the content
//     already is not reloaded.
//   - No fault ends the agent. Each is a problem with a reason and the next step: in the log when it is new, in Health and in a
//     metric while it lasts.
//   - The key of the program is not read. That of a client certificate is, for each handshake, and kept nowhere.
//
// Goroutines: Run watches and reloads on that of its caller, and looks and reports on one more, for which it waits. Health may be
// called from anywhere.
package agent
