// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package display renders what people read: texts within the bounds of the API, and the table cells that both virtual
// resources share. Only here does a time become relative to now: the objects hold absolute times. All functions are
// pure.
package display
