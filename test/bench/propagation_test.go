// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestAudienceWaitsForEveryWatch(t *testing.T) {
	a := &audience{}
	if heard := a.hear([]byte("early"), nil); heard != nil {
		t.Fatal("an event counted that nobody expects")
	}
	e := a.expect("serial", 2)
	first := a.hear([]byte("a serial"), nil)
	if first = a.hear([]byte("the same serial again"), first); first != e {
		t.Fatal("the first watch did not hear")
	}
	second := a.hear([]byte("something else"), nil)
	select {
	case <-e.all:
		t.Fatal("done, though the second watch has heard nothing")
	default:
	}
	a.hear([]byte("serial"), second)
	select {
	case <-e.all:
	default:
		t.Fatal("not done, though both watches have heard")
	}
	if e.last.IsZero() {
		t.Error("the moment of the last one is not known")
	}
}
