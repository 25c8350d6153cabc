// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench is `make bench`: it measures certrotation on a real control plane on this machine and prints
// Markdown tables.
//
// Progress goes to stderr, and every sample as JSON to .local/bench. Nothing asserts a duration: a figure holds
// for one machine at one moment. The tables therefore begin with facts about the machine and its load. On a small
// or shared machine latencies say little and CPU seconds say most. CPU seconds are differences of utime+stime in
// /proc/PID/stat around a batch of requests. They include what the process does in the background.
//
// Alternatives are interleaved: each round runs a batch of every operation, in alternating order, so that a slow
// minute affects all of them. Percentiles are over the samples of all rounds. With few samples the 99th is the
// largest one. CPU seconds are the median of the rounds with the interquartile range in parentheses.
//
// The section borders compares with a build of another revision (-former; hack/bench.sh makes it). Its rounds, and
// the benchmarks of go test, are also written as text for benchstat.
//
// The control plane comes from test/cluster, with a durable etcd in a directory under .local/bench. The directory
// is removed at the end. The control plane's processes end with this one.
package main
