// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package projection turns what the model says of the trust domains into the virtual objects that the API serves.
//
// Render is pure: the same namespace, assessments, previous objects and time give the same objects. No value in an
// object moves with the clock; what time alone changes (renewal due, expiry, an overdue stage) is scheduled through
// trust.Assessment.Recheck and becomes a watch event. An object holds public facts only: nothing of a private key can get
// into it, because the inventory keeps none.
//
// A Projector keeps the two view stores in step with the inventory. Changes are coalesced by namespace; one goroutine,
// that of Run, assesses, renders and applies, so it is the only writer of both stores. Objects that were applied
// belong to the store and are only read from then on.
//
// The signers of a configuration with a rollout show where that stands: its conditions behind their own four, and what
// it waits for, with the time since which it does. Their stage, and Ready, do not depend on it.
//
// A configuration that cannot be loaded has no domain and hence no object to show its problem on: the controller
// reports it in events, the guard refuses it, and the metric certrotation_configuration_problems counts it here.
package projection
