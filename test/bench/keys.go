// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// keys measures what an issuance costs beyond its key and its signature. It uses the CPU time of one thread and
// interleaves the three steps.
func (b *bench) keys(ctx context.Context) error {
	t := &table{
		Title:   "Issuance in process, by key type, against the machine's own rate",
		Notes:   []string{"Operations per CPU second of one core. The anchor is a key and crypto/x509's CreateCertificate, which verifies what it has signed. RSA key generation is a lottery: with few samples its rates, and the last column, are rough. CPU time of the collector on other threads is not in it."},
		Columns: []string{"key", "n", "keys/s", "signatures/s", "anchor: key and certificate/s", "registry/pki Issue/s", "Issue of the anchor, %"},
	}
	for _, key := range pki.KeyAlgorithms() {
		budget := time.Second
		if strings.HasPrefix(string(key), "RSA") {
			budget = 5 * time.Second
		}
		costs, n, err := issuanceCosts(ctx, key, budget)
		if err != nil {
			return err
		}
		b.report.Samples["CPU seconds of each step: "+string(key)] = costs
		anchor := costs.Generate + costs.Create
		t.Rows = append(t.Rows, []string{
			string(key), fmt.Sprint(n), number(1 / costs.Generate), number(1 / costs.Sign), number(1 / anchor), number(1 / costs.Issue),
			fmt.Sprintf("%.0f", anchor/costs.Issue*100),
		})
	}
	b.report.print(t)
	return nil
}

// keyCosts are CPU seconds per operation.
type keyCosts struct {
	Generate float64 `json:"generate"`
	Sign     float64 `json:"sign"`
	Create   float64 `json:"create"`
	Issue    float64 `json:"issue"`
}

// issuanceCosts returns the means over at least three rounds and over the budget of wall time. Only the first
// rounds measure signatures, several each: next to an RSA key generation a single signature is lost in the noise.
func issuanceCosts(ctx context.Context, key pki.KeyAlgorithm, budget time.Duration) (keyCosts, int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const least, signing, signatures = 3, 50, 20
	w, err := newWorkbench(key)
	if err != nil {
		return keyCosts{}, 0, err
	}
	var sum keyCosts
	n := 0
	for begun := time.Now(); n < least || time.Since(begun) < budget; n++ {
		if err := ctx.Err(); err != nil {
			return keyCosts{}, 0, err
		}
		steps := []step{{&sum.Generate, w.generate}, {&sum.Create, w.create}, {&sum.Issue, w.issue}}
		if n < signing {
			steps = append(steps, step{&sum.Sign, func() error { return w.sign(signatures) }})
		}
		for _, s := range steps {
			if err := charge(s.sum, s.do); err != nil {
				return keyCosts{}, 0, err
			}
		}
	}
	times := float64(n)
	return keyCosts{
		Generate: sum.Generate / times, Create: sum.Create / times, Issue: sum.Issue / times,
		Sign: sum.Sign / float64(min(n, signing)*signatures),
	}, n, nil
}

// step adds its cost to a sum.
type step struct {
	sum *float64
	do  func() error
}

func charge(sum *float64, do func() error) error {
	before, err := threadSeconds()
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := threadSeconds()
	*sum += after - before
	return err
}
