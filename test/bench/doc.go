// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench is `make bench`: it measures certrotation on a real control plane on this machine and prints Markdown tables.
//
// Progress goes to stderr and every sample, as JSON, into .local/bench. Nothing is asserted about time: a figure is true of
// one machine and one moment, so the tables begin with the facts of the machine and the load on it. On a small or shared
// machine latencies say little and CPU seconds say most; those are the differences of utime+stime in /proc/PID/stat around a
// batch of requests, which includes what the process does in the background.
//
// Alternatives are interleaved: each round runs a batch of every operation, and every second round in the opposite order, so
// that a slow minute hits all of them. Percentiles are over the samples of all rounds, and of few samples the 99th is the
// largest one; CPU seconds are the median of the rounds with the interquartile range in parentheses.
//
// The benchmarks of go test are also written as text that benchstat reads.
//
// The control plane is that of test/cluster with a durable etcd, in a directory under .local/bench that is removed at the
// end. Its processes die with this one.
package main
