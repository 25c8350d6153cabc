// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"certrotation.dev/registry/diagnosis"
	"certrotation.dev/registry/nodedisk"
	"certrotation.dev/registry/pki"
)

// Probe connects to each peer with the leaf of a generation and returns what each has shown, in the order of the peers.
func Probe(ctx context.Context, g *nodedisk.Generation, files nodedisk.ListenerFiles, peers []nodedisk.Member, timeout time.Duration) ([]diagnosis.Sighting, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(g.Path, files.Cert), filepath.Join(g.Path, files.Key))
	if err != nil {
		return nil, fmt.Errorf("load the leaf of generation %s for probes: %w", g.ID(), errors.New("certificate or key cannot be used"))
	}
	out := make([]diagnosis.Sighting, len(peers))
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

// probe asks for something over the finished connection: only an answer shows that the peer accepts the leaf, because with
// TLS 1.3 a client that is refused learns that after its own handshake.
func probe(ctx context.Context, peer nodedisk.Member, pair *tls.Certificate) diagnosis.Sighting {
	s := diagnosis.Sighting{Peer: peer}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", peer.Address)
	if err != nil {
		s.Failure = failure(ctx, err)
		return s
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			s.Failure = failure(ctx, err)
			return s
		}
	}
	client := tls.Client(conn, clientConfig(&s, pair))
	if err := client.HandshakeContext(ctx); err != nil {
		s.Failure = failure(ctx, err)
		return s
	}
	s.Met = true
	if err := ask(client, peer.Address); err != nil {
		s.Failure = failure(ctx, err)
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

// clientConfig takes any server, because what it presents is to be seen whether it can be verified or not.
func clientConfig(s *diagnosis.Sighting, pair *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // registry/diagnosis judges what is presented, and nothing secret is sent
		// Called before the server has proven that it holds its key: if it has not, the handshake fails later.
		VerifyConnection: func(state tls.ConnectionState) error {
			s.Presents = nil
			for _, presented := range state.PeerCertificates {
				if c, err := pki.ParseCertificate(presented.Raw); err == nil {
					s.Presents = append(s.Presents, c)
				}
			}
			return nil
		},
		// Called after it has.
		GetClientCertificate: func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			s.Met = true
			for _, subject := range request.AcceptableCAs {
				s.Subjects = append(s.Subjects, pki.SubjectHash(subject))
			}
			return pair, nil
		},
	}
}

// failure puts an error of a connection into words without local ports.
func failure(ctx context.Context, err error) string {
	var (
		dns    *net.DNSError
		alert  tls.AlertError
		record tls.RecordHeaderError
		errno  syscall.Errno
	)
	switch {
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return "it does not answer in time"
	case errors.As(err, &dns):
		return "its host name " + dns.Name + " cannot be resolved"
	case errors.As(err, &alert):
		return "it refuses the handshake: " + alert.Error()
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.As(err, &errno):
		return "it cannot be reached: " + errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closes the connection"
	}
	return "the handshake fails"
}
