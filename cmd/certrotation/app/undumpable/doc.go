// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package undumpable keeps the memory of this process, which at moments has private keys in it, from others of the same
// user and from files: it has no core dump, and only who may trace any process can read its memory.
//
// A debugger or profiler of the same user finds its door closed as well; root's stays open, as nothing can close that.
package undumpable
