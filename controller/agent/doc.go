// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent acknowledges for a program in the same pod that does not do so itself. It watches the mounted files
// of the program, optionally makes it reload them, finds out what it really has loaded, and reports that.
//
//	mounted files ──► reload ──► handshake on localhost ──► presented leaf, listed CAs ──► acknowledge
//
// In a handshake a server presents a leaf and proves that it has the key. It also lists, by subject, the CAs whose
// clients it accepts; trust.Listed defines what such a list proves. Without such a port (--reports-files) the agent
// reports what was mounted when a reload succeeded, which relies on the program's answer. The agent cannot see what a
// program trusts as a client.
//
// Invariants:
//
//   - Mounted files alone are never acknowledged: a report needs a proof, or a reload that succeeded.
//   - What a server shows counts only if it presents a leaf that was mounted, or one that chains to a mounted anchor.
//     Any other port proves nothing about the program.
//   - A restarted program (another socket listens at its port, or the port was unreachable) is a new process: earlier
//     observations do not carry over.
//   - The program reloads each content once. A failed reload is retried with growing pauses. A program that already
//     shows the content is not reloaded.
//   - No error ends the agent. Each is a problem with a reason and a next step: logged when new, and in Health and a
//     metric while it lasts.
//   - The agent does not read the key of the program. It reads the key of a client certificate for each handshake and
//     does not keep it.
//
// Goroutines: Run watches and reloads in the goroutine of its caller. It starts one more that looks and reports, and
// waits for its end. Health is safe from any goroutine.
package agent
