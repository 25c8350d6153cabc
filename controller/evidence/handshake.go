// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"time"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// sighting is what one handshake has shown.
type sighting struct {
	// met says that the server has proven that it holds the key of what it presents; subjects and presents are set
	// only then.
	met bool
	// subjects are the hashes of the subjects that it accepts client certificates from.
	subjects []string
	presents []pki.Fingerprint
	// until is when what is presented ends, if it was recovered; see trust.Observation.
	until time.Time
	// failure says what is wrong, "" if nothing is.
	failure string
}

// farewell bounds how long, and how much, is read from a server after the connection was closed towards it.
const (
	farewell      = time.Second
	farewellBytes = 64 << 10
)

// handshake connects to a server as a client with the given pair (nil for none). ctx has to have a deadline.
func (c *Collector) handshake(ctx context.Context, probe *trust.Probe, pair *tls.Certificate, anchors []*pki.Certificate) *sighting {
	conn, err := c.dial(ctx, "tcp", probe.Address)
	if err != nil {
		return &sighting{failure: connection.Failure(ctx, err)}
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return &sighting{failure: connection.Failure(ctx, err)}
		}
	}
	found := &sighting{}
	client := tls.Client(conn, c.clientConfig(probe, pair, found))
	err = client.HandshakeContext(ctx)
	switch {
	case err == nil:
		found.met = true
		leave(client)
	case !found.met:
		return &sighting{failure: connection.Failure(ctx, err)}
	}
	// A server that refuses the client has shown all the same what it accepts and presents.
	chain := client.ConnectionState().PeerCertificates
	found.presents, found.until = c.presented(chain, anchors)
	found.failure = c.verify(chain, anchors, serverName(probe))
	return found
}

// clientConfig takes any server, because what it presents is to be seen whether it can be verified or not.
func (c *Collector) clientConfig(probe *trust.Probe, pair *tls.Certificate, found *sighting) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         serverName(probe),
		InsecureSkipVerify: true, //nolint:gosec // verify does it afterwards, and nothing is sent over this connection
		// Called after the server has proven that it holds its key.
		GetClientCertificate: func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			found.met = true
			found.subjects = subjectHashes(request.AcceptableCAs)
			if pair == nil {
				return &tls.Certificate{}, nil
			}
			return pair, nil
		},
	}
}

func subjectHashes(raw [][]byte) []string {
	hashes := make([]string, 0, min(len(raw), evidence.MaxFingerprints))
	for _, subject := range raw[:min(len(raw), evidence.MaxFingerprints)] {
		hashes = append(hashes, pki.SubjectHash(subject))
	}
	return hashes
}

// presented are the leaf alone, as what follows it is no leaf, and when it ends if it was recovered.
func (c *Collector) presented(chain []*x509.Certificate, anchors []*pki.Certificate) ([]pki.Fingerprint, time.Time) {
	if len(chain) == 0 {
		return nil, time.Time{}
	}
	leaf, err := pki.ParseCertificate(chain[0].Raw)
	if err != nil {
		return nil, time.Time{}
	}
	return []pki.Fingerprint{leaf.Fingerprint}, recoveredUntil(leaf, anchors, c.clock.Now())
}

// recoveredUntil is when a leaf ends that is valid though every anchor whose key has signed it has expired, zero for others.
func recoveredUntil(leaf *pki.Certificate, anchors []*pki.Certificate, now time.Time) time.Time {
	signed := false
	for _, anchor := range anchors {
		if !leaf.SignedBy(anchor) {
			continue
		}
		if !anchor.Expired(now) {
			return time.Time{}
		}
		signed = true
	}
	if !signed || !leaf.ValidAt(now) {
		return time.Time{}
	}
	return leaf.NotAfter
}

// verify says why a client with these anchors would refuse the chain, "" if it would not.
func (c *Collector) verify(chain []*x509.Certificate, anchors []*pki.Certificate, name string) string {
	if len(chain) == 0 {
		return "it presents no certificate"
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, anchor := range anchors {
		if parsed, err := x509.ParseCertificate(anchor.DER()); err == nil {
			roots.AddCert(parsed)
		}
	}
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: name, Roots: roots, Intermediates: intermediates, CurrentTime: c.clock.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return connection.Verification(err)
}

func serverName(probe *trust.Probe) string {
	if probe.ServerName != "" {
		return probe.ServerName
	}
	host, _, err := net.SplitHostPort(probe.Address)
	if err != nil {
		return probe.Address
	}
	return host
}

// leave closes the connection in order and reads what the server still sends, so that it does not see a reset in the
// middle of its own handshake. Nothing depends on the outcome.
func leave(conn *tls.Conn) {
	_ = conn.NetConn().SetDeadline(time.Now().Add(farewell))
	if err := conn.CloseWrite(); err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, conn, farewellBytes)
}
