// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// claimDir holds a file for each claimed network number. A reboot clears it, as it clears the networks.
	claimDir = "/run/certrotation-nodes"
	// claims is the number of possible networks on this machine: 10.200.0.0/16 to 10.249.0.0/16.
	claims      = 50
	firstSecond = 200
)

// claim is the right to one network number of this machine: to its addresses, bridge and cgroups. The process that
// runs the network holds the lock on its file. No process runs a detached network, which keeps its number by its
// directory.
type claim struct {
	number int
	dir    string
	file   *os.File
}

// takeClaim finds a number for the network of dir: its former one (had, 0 for none) or a free one. It removes the
// leftovers of an ended network under that number.
func takeClaim(dir string, had int, detach bool) (*claim, error) {
	if err := os.MkdirAll(claimDir, 0o755); err != nil {
		return nil, fmt.Errorf("claim a network number: %w", err)
	}
	if had != 0 {
		c, err := tryClaim(had, dir, detach)
		if err == nil && c == nil {
			err = fmt.Errorf("the network 10.%d.0.0/24 of %s is in use by somebody else now (see %s/%d); stop that one, or remove the directory to start anew",
				had, dir, claimDir, had)
		}
		return c, err
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(dir)) // It never fails.
	first := int(sum.Sum32() % claims)
	for i := range claims {
		c, err := tryClaim(firstSecond+(first+i)%claims, dir, detach)
		if err != nil {
			return nil, err
		}
		if c != nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("claim a network number: all %d are in use (see %s)", claims, claimDir)
}

// tryClaim returns nil if another network has the number.
func tryClaim(number int, dir string, detach bool) (*claim, error) {
	path := filepath.Join(claimDir, fmt.Sprint(number))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("claim network number %d: %w", number, err)
	}
	c := &claim{number: number, dir: dir, file: file}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	kind, owner, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if owner == dir && kind == "detached" && !detach {
		return nil, errors.Join(fmt.Errorf("the nodes in %s run detached; stop those first (nodes.StopDir)", dir), c.close())
	}
	if owner != dir {
		if kind == "detached" && exists(filepath.Join(owner, stateFile)) || addressInUse(number) {
			return nil, c.close()
		}
		if err := removeLeftovers(number); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	kind = "attached"
	if detach {
		kind = "detached"
	}
	if err := os.WriteFile(path, []byte(kind+" "+dir+"\n"), 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("claim network number %d: %w", number, err), c.close())
	}
	return c, nil
}

// claimedBy reports whether the text of a claim names the network in dir.
func claimedBy(text, dir string) bool {
	_, owner, _ := strings.Cut(strings.TrimSpace(text), " ")
	return owner == dir
}

// release frees the number. It may be called again.
func (c *claim) release() error {
	text, err := os.ReadFile(c.file.Name())
	if err == nil && claimedBy(string(text), c.dir) {
		err = os.Truncate(c.file.Name(), 0)
	}
	return errors.Join(err, c.close())
}

// close releases the lock; a detached network keeps the number.
func (c *claim) close() error {
	if err := c.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// addressInUse reports whether another interface of this machine has an address in the network of that number.
func addressInUse(number int) bool {
	own := net.IPNet{IP: net.IPv4(10, byte(number), 0, 0).To4(), Mask: net.CIDRMask(16, 32)}
	interfaces, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, i := range interfaces {
		if i.Name == bridgeName(number) {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && (own.Contains(n.IP) || n.Contains(own.IP) && !n.IP.IsLoopback()) {
				return true
			}
		}
	}
	return false
}

// removeLeftovers removes from the kernel what an ended network left: its bridge and cgroups. Its processes and their
// network namespaces ended with its owner.
func removeLeftovers(number int) error {
	return errors.Join(removeBridge(number), removeCgroups(cgroupOfNetwork(number)))
}
