// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listening is the state LISTEN in /proc/net/tcp, which lists those sockets first.
const listening = "0A"

// noticeRestart resets the observations if another socket listens than before. The containers of a pod share one
// network namespace, so the agent sees the sockets.
func (a *Agent) noticeRestart() {
	listens := a.config.Prove.networkOrDefault().Listeners(a.config.Prove.Address)
	if listens == a.listens {
		return
	}
	a.listens = listens
	a.away()
	a.lookAt, a.changedAt = time.Time{}, time.Now()
}

// away forgets the observations: the next server may be another process.
func (a *Agent) away() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.proof, a.startedAt = nil, time.Time{}
}

// Listeners implements network with the socket tables of the kernel.
func (*podNetwork) Listeners(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	var sockets []string
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		sockets = append(sockets, socketsAt(f, n)...)
		_ = f.Close()
	}
	slices.Sort(sockets)
	return strings.Join(sockets, " ")
}

// socketsAt returns the inodes of the sockets that listen at a port.
func socketsAt(table io.Reader, port uint64) []string {
	suffix, lines := fmt.Sprintf(":%04X", port), bufio.NewScanner(table)
	var sockets []string
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[0] == "sl" {
			continue
		}
		if fields[3] != listening {
			break
		}
		if strings.HasSuffix(fields[1], suffix) {
			sockets = append(sockets, fields[9])
		}
	}
	return sockets
}
