// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

const (
	recordHeader    = 5
	recordHandshake = 0x16
	// maxRecord is the longest plaintext record of TLS.
	maxRecord = 1 << 14
)

// readHello reads what a client sends before it expects an answer: the TLS record with its ClientHello. If it is not
// such a record, readHello returns the bytes that it has read, and the backend answers them.
func readHello(client net.Conn, patience time.Duration) ([]byte, error) {
	if err := client.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	hello := make([]byte, recordHeader)
	if _, err := io.ReadFull(client, hello); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(hello[3:]))
	if hello[0] == recordHandshake && length <= maxRecord {
		hello = append(hello, make([]byte, length)...)
		if _, err := io.ReadFull(client, hello[recordHeader:]); err != nil {
			return nil, err
		}
	}
	return hello, client.SetReadDeadline(time.Time{})
}
