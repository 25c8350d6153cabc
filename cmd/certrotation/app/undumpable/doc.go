// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package undumpable protects the memory of this process, which at times holds private keys, from other processes of
// the same user and from files. The process has no core dumps, and only a process that may trace any other can read
// its memory.
//
// Debuggers and profilers of the same user do not work either; those of root do.
package undumpable
