// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pipenet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func ends(t *testing.T, n *Network) (client, server net.Conn) {
	t.Helper()
	l := n.Listen()
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	client, err := n.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return client, <-accepted
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// fails checks that an operation returns the wanted error.
func fails(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestDataAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := ends(t, &Network{})
		// More than an unbuffered pipe takes.
		text := strings.Repeat("much ", 100_000)
		write(t, client, text)
		write(t, server, "an answer")
		got := make([]byte, len("an answer"))
		if _, err := io.ReadFull(client, got); err != nil || string(got) != "an answer" {
			t.Errorf("read %q, %v", got, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(server); err != nil || string(got) != text {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(text))
		}
		_, err := client.Read(got)
		fails(t, "read after close", err, net.ErrClosed)
		_, err = client.Write(got)
		fails(t, "write after close", err, net.ErrClosed)
		fails(t, "close after close", client.Close(), net.ErrClosed)
		write(t, server, "lost")
		_, err = server.Read(got)
		fails(t, "read after the loss", err, syscall.ECONNRESET)
		_, err = server.Write(got)
		fails(t, "write after the loss", err, syscall.EPIPE)
	})
}

func TestCloseWithUnreadDataResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := ends(t, &Network{})
		write(t, server, "unread")
		write(t, client, "farewell")
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		got, err := io.ReadAll(server)
		if string(got) != "farewell" {
			t.Errorf("read %q", got)
		}
		fails(t, "read", err, syscall.ECONNRESET)
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := ends(t, &Network{})
		read := func(within time.Duration) (time.Duration, error) {
			begun := time.Now()
			if err := client.SetReadDeadline(begun.Add(within)); err != nil {
				t.Fatal(err)
			}
			_, err := client.Read(make([]byte, 1))
			return time.Since(begun), err
		}
		for _, within := range []time.Duration{-time.Second, 0, time.Minute} {
			took, err := read(within)
			fails(t, "read", err, os.ErrDeadlineExceeded)
			if took != max(within, 0) {
				t.Errorf("the deadline of %s is over after %s", within, took)
			}
		}
		write(t, client, "of the other direction")
		time.AfterFunc(30*time.Second, func() { write(t, server, "x") })
		if took, err := read(time.Minute); err != nil || took != 30*time.Second {
			t.Errorf("read after %s, %v", took, err)
		}
		if err := client.SetDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		_, err := client.Write([]byte("late"))
		fails(t, "write", err, os.ErrDeadlineExceeded)
		if err := client.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		write(t, client, "without a deadline")
	})
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Network{}
		l := n.Listen()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := n.DialContext(ctx, "tcp", l.Addr().String())
		fails(t, "dial one who does not accept", err, context.DeadlineExceeded)
		time.AfterFunc(time.Minute, func() { _ = l.Close() })
		_, err = n.DialContext(t.Context(), "tcp", l.Addr().String())
		fails(t, "dial one who closes", err, syscall.ECONNREFUSED)
		_, err = l.Accept()
		fails(t, "accept after close", err, net.ErrClosed)
		fails(t, "close after close", l.Close(), net.ErrClosed)
		for _, address := range []string{l.Addr().String(), n.ClosedPort()} {
			_, err = n.DialContext(t.Context(), "tcp", address)
			fails(t, "dial "+address, err, syscall.ECONNREFUSED)
		}
	})
}
