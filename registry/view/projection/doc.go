// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package projection turns the assessments of trust domains into the virtual objects that the API serves.
//
// Render is pure: the same namespace, assessments, previous objects and time give the same objects. No value in an
// object moves with the clock. What time alone changes (renewal due, expiry, an overdue stage) is scheduled through
// trust.Assessment.Recheck and becomes a watch event. An object holds public facts only: the inventory keeps no
// private key.
//
// A Projector keeps the two view stores in step with the inventory. It coalesces changes by namespace. Only the
// goroutine of Run assesses, renders and applies, so it is the single writer of both stores. Applied objects belong
// to the store and are read-only from then on.
//
// The signers of a configuration with a rollout also show the rollout: its conditions after their own four, and its
// blockers with their start times. Their stage, and Ready, do not depend on it.
//
// A configuration that cannot be loaded has no domain, and thus no object to show its problem on. The controller
// reports it in events, the guard refuses it, and the metric certrotation_configuration_problems counts it here.
package projection
