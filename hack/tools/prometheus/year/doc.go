// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package year tells a healthy year of an installation as the series that a Prometheus would have of it: what the alerts have to be
// quiet about, and what a dashboard has to show.
//
// Two replicas of `serve` and two of the controller run for 365 days beside five trust domains. Signers and leaves are renewed when
// they are due, some rotations are asked for, static pods and workloads are rolled out, members take their time. Meanwhile things
// happen that happen in every cluster and that should wake nobody: releases, nodes that are drained, processes that crash,
// leaders that change, a kube-apiserver that is away for seconds, scrapes that fail.
//
// A sample is computed when it is asked for, from the story and nothing else: a year has more samples than anybody wants to store,
// and it is the same year each time.
package year
