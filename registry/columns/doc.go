// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package columns renders the cells that the tables of both virtual resources have in common. It is the only place where
// a time becomes relative to now: the objects themselves hold absolute times. Its functions are pure.
package columns
