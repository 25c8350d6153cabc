// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// keys measures, on one thread and in CPU time of that thread, what an issuance costs beyond the key and the signature that
// it needs. The three are interleaved.
func (b *bench) keys(ctx context.Context) error {
	t := &table{
		Title:   "Issuance in process, by key type, against the machine's own rate",
		Notes:   []string{"Operations per CPU second of one core. The best possible is one key generation and one signature; RSA key generation is a lottery, so its rates are rough. CPU time of the collector on other threads is not in it."},
		Columns: []string{"key", "keys/s", "signatures/s", "best possible/s", "registry/pki Issue/s", "n"},
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
		b.report.Samples["CPU seconds of generate, sign, issue: "+string(key)] = costs
		best := costs.Generate + costs.Sign
		t.Rows = append(t.Rows, []string{
			string(key), number(1 / costs.Generate), number(1 / costs.Sign), number(1 / best), number(1 / costs.Issue), fmt.Sprint(n),
		})
	}
	b.report.print(t)
	return nil
}

// keyCosts are CPU seconds.
type keyCosts struct {
	Generate float64 `json:"generate"`
	Sign     float64 `json:"sign"`
	Issue    float64 `json:"issue"`
}

// issuanceCosts are the means over at least three rounds and the budget of wall time. In each round a hundred signatures
// are made: next to an RSA key one would be lost in the noise.
func issuanceCosts(ctx context.Context, key pki.KeyAlgorithm, budget time.Duration) (keyCosts, int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const signatures, least = 100, 3
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "bench", Key: key, Validity: time.Hour}, time.Now())
	if err != nil {
		return keyCosts{}, 0, err
	}
	signer, err := pki.GenerateKey(key)
	if err != nil {
		return keyCosts{}, 0, err
	}
	var sum keyCosts
	n := 0
	for begun := time.Now(); n < least || time.Since(begun) < budget; n++ {
		if err := ctx.Err(); err != nil {
			return keyCosts{}, 0, err
		}
		if err := charge(&sum.Generate, func() error { _, err := pki.GenerateKey(key); return err }); err != nil {
			return keyCosts{}, 0, err
		}
		if err := charge(&sum.Issue, func() error { _, err := ca.Issue(leafProfile("leaf", key), time.Now()); return err }); err != nil {
			return keyCosts{}, 0, err
		}
		if n < 50 {
			err := charge(&sum.Sign, func() error { return sign(signer, signatures) })
			if err != nil {
				return keyCosts{}, 0, err
			}
		}
	}
	times := float64(n)
	return keyCosts{Generate: sum.Generate / times, Issue: sum.Issue / times, Sign: sum.Sign / float64(min(n, 50)*signatures)}, n, nil
}

// charge adds the CPU seconds of do to sum.
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

// sign signs something of the length of a certificate, as crypto/x509 does.
func sign(key crypto.Signer, times int) error {
	message := make([]byte, 500)
	for range times {
		digest, hash := message, crypto.Hash(0)
		if _, ok := key.(ed25519.PrivateKey); !ok {
			sum := sha256.Sum256(message)
			digest, hash = sum[:], crypto.SHA256
		}
		if _, err := key.Sign(rand.Reader, digest, hash); err != nil {
			return fmt.Errorf("sign: %w", err)
		}
	}
	return nil
}
