// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

// Probe connects to each peer with the leaf of a generation and returns the results in the order of the peers.
func Probe(ctx context.Context, g *nodepod.Generation, files nodepod.ListenerFiles, peers []nodepod.Member, timeout time.Duration) ([]nodepod.Sighting, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(g.Path, files.Cert), filepath.Join(g.Path, files.Key))
	if err != nil {
		return nil, fmt.Errorf("load the leaf of generation %s for probes: %w", g.ID(), errors.New("certificate or key cannot be used"))
	}
	out := make([]nodepod.Sighting, len(peers))
	var probes sync.WaitGroup
	for i, peer := range peers {
		probes.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			out[i] = probe(ctx, peer, &pair)
		})
	}
	probes.Wait()
	return out, nil
}

// probe sends a request after the handshake, because only an answer shows that the peer accepts the leaf. With TLS
// 1.3 a refused client learns of it after its own handshake.
func probe(ctx context.Context, peer nodepod.Member, pair *tls.Certificate) nodepod.Sighting {
	s := nodepod.Sighting{Peer: peer}
	conn, err := dial.Dial(ctx, (&net.Dialer{}).DialContext, peer.Address)
	if err != nil {
		s.Failure = dial.Failure(ctx, err)
		return s
	}
	defer conn.Close()
	client, shown, err := (&dial.Client{Pair: pair}).Shake(ctx, conn)
	s.Met, s.Subjects = shown.Met, shown.Subjects
	for _, presented := range shown.Presents {
		if c, err := pki.ParseCertificate(presented.Raw); err == nil {
			s.Presents = append(s.Presents, c)
		}
	}
	if err == nil {
		err = ask(client, peer.Address)
	}
	if err != nil {
		s.Failure = dial.Failure(ctx, err)
		return s
	}
	s.Answered = true
	return s
}

func ask(conn *tls.Conn, host string) error {
	if _, err := fmt.Fprintf(conn, "GET /version HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}
