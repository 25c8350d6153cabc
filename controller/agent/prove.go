// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/reload"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

const (
	// handshakeTimeout bounds a handshake with a server in the same pod.
	handshakeTimeout = 10 * time.Second
	// farewell and farewellBytes bound what is read after the agent has closed its side of the connection.
	farewell      = time.Second
	farewellBytes = 64 << 10
	// maxChain bounds the certificates that are verified of an unknown server.
	maxChain = 5
)

// Prove configures the handshake with the program.
type Prove struct {
	// Address is HOST:PORT of this pod.
	Address string
	// ServerName is the SNI for a server with several certificates, "" for none.
	ServerName string
	// ClientCertificate and ClientKey are files of the pair to present if the server asks, "" for none.
	ClientCertificate, ClientKey string
	// network is the pod network unless a test sets it.
	network network
}

// network dials, and names the sockets that listen at the port of an address, "" if that is unknown.
type network interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Listeners(address string) string
}

type podNetwork struct{ net.Dialer }

func (p *Prove) networkOrDefault() network {
	if p.network != nil {
		return p.network
	}
	return &podNetwork{}
}

// prove does a handshake with the program. The proof is what the program shows, regardless of what is mounted.
func (a *Agent) prove(ctx context.Context) (reload.Loaded, error) {
	begun := time.Now()
	shown, err := a.config.Prove.shake(ctx)
	if err != nil {
		a.away()
		return reload.Loaded{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	leaf, err := a.recognise(shown.Presents)
	if err != nil {
		a.proof = nil
		return reload.Loaded{}, &reload.Problem{
			Reason: ReasonForeignServer, Err: fmt.Errorf("%s: %w", a.config.Prove.Address, err),
			Next: "compare --prove and --server-name with the port of the program, and --anchors with its bundle",
		}
	}
	if a.startedAt.IsZero() {
		a.startedAt = begun
	}
	proof := reload.Loaded{
		Presents: []pki.Fingerprint{leaf.Fingerprint}, Trusts: fingerprints(trust.Listed(shown.Subjects, a.known, begun)), StartedAt: a.startedAt,
	}
	a.proof = &proof
	a.putLocked(ctx, partProgram, a.lagging(shown, &proof))
	return proof, nil
}

// shake returns what the server presents and lists.
func (p *Prove) shake(ctx context.Context) (dial.Shown, error) {
	pair, err := p.pair()
	if err != nil {
		return dial.Shown{}, &reload.Problem{
			Reason: ReasonFilesUnreadable, Err: err, Next: "compare --client-certificate and --client-key with the volumeMounts of this container",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	unreachable := func(err error) error {
		return &reload.Problem{
			Reason: ReasonServerUnreachable, Err: fmt.Errorf("look at %s: %s: %w", p.Address, dial.Failure(ctx, err), errNoHandshake),
			Next: "see whether the program runs, and whether --prove is its TLS port",
		}
	}
	raw, err := dial.Dial(ctx, p.networkOrDefault().DialContext, p.Address)
	if err != nil {
		return dial.Shown{}, unreachable(err)
	}
	defer raw.Close()
	conn, shown, err := (&dial.Client{Pair: pair, ServerName: p.ServerName, Latest: tls.VersionTLS13}).Shake(ctx, raw)
	if err == nil {
		leave(conn)
	}
	if !shown.Met || len(shown.Presents) == 0 {
		return dial.Shown{}, unreachable(cmp.Or(err, errNoHandshake))
	}
	return shown, nil
}

// leave closes the connection in order, so that the server sees no reset during its handshake.
func leave(conn *tls.Conn) {
	_ = conn.SetDeadline(time.Now().Add(farewell))
	_ = conn.CloseWrite()
	// The agent needs nothing more from the server.
	_, _ = io.CopyN(io.Discard, conn, farewellBytes)
}

func (p *Prove) pair() (*tls.Certificate, error) {
	if p.ClientCertificate == "" {
		return nil, nil
	}
	data, err := reload.Read(p.ClientCertificate, p.ClientKey)
	if err != nil {
		return nil, err
	}
	defer clear(data[1])
	pair, err := pki.ParsePair(data[0], data[1])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.ClientCertificate, err)
	}
	certificate, err := dial.Certificate(pair)
	if err != nil {
		return nil, fmt.Errorf("use %s: %w", p.ClientCertificate, err)
	}
	return &certificate, nil
}

// recognise returns the leaf of a server if it belongs to this program: the leaf was mounted, or it chains to an
// anchor that was. It does not check whether any peer accepts the leaf.
func (a *Agent) recognise(chain []*x509.Certificate) (*pki.Certificate, error) {
	var leaf *pki.Certificate
	for i, link := range chain[:min(len(chain), maxChain)] {
		cert, err := pki.ParseCertificate(link.Raw)
		if err != nil {
			return nil, fmt.Errorf("read what it presents: %w", err)
		}
		if i == 0 {
			leaf = cert
		} else if chain[i-1].CheckSignatureFrom(link) != nil {
			break
		}
		if (i == 0 && a.leaves[cert.Fingerprint]) || slices.ContainsFunc(a.known, cert.SignedBy) {
			return leaf, nil
		}
	}
	return nil, fmt.Errorf("it presents %s of %s, which is neither the mounted certificate nor of a mounted authority", leaf.Subject, leaf.Issuer)
}
