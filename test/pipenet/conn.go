// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pipenet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection.
type conn struct {
	// mu is shared by both ends. changed wakes all waiting readers.
	mu      *sync.Mutex
	changed *sync.Cond
	peer    *conn
	address *net.TCPAddr
	// received was written by the peer, and not read yet.
	received []byte
	// closed by this end, reset by the peer.
	closed, reset bool
	reading       deadline
	writing       deadline
}

func connect(address *net.TCPAddr) (client, server *conn) {
	mu := &sync.Mutex{}
	changed := sync.NewCond(mu)
	client = &conn{mu: mu, changed: changed, address: address}
	server = &conn{mu: mu, changed: changed, address: address, peer: client}
	client.peer = server
	return client, server
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.failure("read", net.ErrClosed)
		case c.reading.over:
			return 0, c.failure("read", os.ErrDeadlineExceeded)
		case len(c.received) > 0:
			n := copy(b, c.received)
			c.received = c.received[n:]
			return n, nil
		case c.reset:
			return 0, c.failure("read", syscall.ECONNRESET)
		case c.peer.closed:
			return 0, io.EOF
		}
		c.changed.Wait()
	}
}

// Write implements net.Conn. It never blocks. Data written to a closed peer is lost, and resets the connection.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, c.failure("write", net.ErrClosed)
	case c.writing.over:
		return 0, c.failure("write", os.ErrDeadlineExceeded)
	case c.reset:
		return 0, c.failure("write", syscall.EPIPE)
	case c.peer.closed:
		c.reset = true
	default:
		c.peer.received = append(c.peer.received, b...)
	}
	c.changed.Broadcast()
	return len(b), nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failure("close", net.ErrClosed)
	}
	c.closed = true
	if len(c.received) > 0 {
		c.peer.reset = true
	}
	c.reading.stop()
	c.writing.stop()
	c.changed.Broadcast()
	return nil
}

func (c *conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: c.address.Network(), Addr: c.address, Err: err}
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.address }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.address }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.set(t, &c.reading, &c.writing) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.set(t, &c.reading) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(t, &c.writing) }

func (c *conn) set(t time.Time, deadlines ...*deadline) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failure("set", net.ErrClosed)
	}
	for _, d := range deadlines {
		d.stop()
		d.over = !t.IsZero() && !time.Now().Before(t)
		if t.IsZero() || d.over {
			continue
		}
		// A fired timer may still wait for the lock when another deadline is set.
		var timer *time.Timer
		timer = time.AfterFunc(time.Until(t), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if d.timer == timer {
				d.over = true
				c.changed.Broadcast()
			}
		})
		d.timer = timer
	}
	c.changed.Broadcast()
	return nil
}

type deadline struct {
	timer *time.Timer
	over  bool
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
