// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// firstHost is the last octet of the first node's address; the machine has .1.
const firstHost = 11

func bridgeName(number int) string { return fmt.Sprintf("crt%d", number) }

func vethName(number, host int) string { return fmt.Sprintf("crt%dn%d", number, host) }

func gatewayOf(number int) net.IP { return net.IPv4(10, byte(number), 0, 1).To4() }

func addressOf(number, host int) net.IP { return net.IPv4(10, byte(number), 0, byte(host)).To4() }

// podSubnet is the subnet of a node's pods that have their own network.
func podSubnet(number, host int) string { return fmt.Sprintf("10.%d.%d.0/24", number, host) }

func interfaceExists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

// ip runs the ip command of iproute2 on the machine.
func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// makeBridge makes the bridge that joins the machine (.1) and the nodes, unless it exists.
func makeBridge(number int) error {
	name := bridgeName(number)
	if interfaceExists(name) {
		return nil
	}
	if err := ip("link", "add", name, "type", "bridge"); err != nil {
		return err
	}
	if err := ip("address", "add", gatewayOf(number).String()+"/24", "dev", name); err != nil {
		return err
	}
	if err := ip("link", "set", name, "up"); err != nil {
		return err
	}
	// Pods of different nodes reach each other through the machine. This only forwards packets from the bridge.
	forwarding := "/proc/sys/net/ipv4/conf/" + name + "/forwarding"
	if err := os.WriteFile(forwarding, []byte("1\n"), 0o644); err != nil {
		return fmt.Errorf("let the machine forward packets of %s: %w", name, err)
	}
	return nil
}

func removeBridge(number int) error { return removeInterface(bridgeName(number)) }

// removeInterface removes an interface if it exists. The kernel may remove it first: some time after the last process
// of a namespace it removes both ends of a pair.
func removeInterface(name string) error {
	if !interfaceExists(name) {
		return nil
	}
	if err := ip("link", "delete", name); err != nil && interfaceExists(name) {
		return err
	}
	return nil
}

// connect gives a node that has just started its interface eth0, its address and its routes. Each start needs it,
// because the interface ends with the network namespace.
func (n *Node) connect(ctx context.Context) error {
	number, outside := n.network.number, vethName(n.network.number, n.host)
	if err := removeInterface(outside); err != nil {
		return err
	}
	// Keep the hardware address over a loss of power, as a machine does: other nodes have it in their neighbor
	// tables.
	hardware := fmt.Sprintf("02:00:0a:%02x:00:%02x", number, n.host)
	if err := ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "address", hardware, "netns", strconv.Itoa(n.init.Pid())); err != nil {
		return err
	}
	if err := ip("link", "set", outside, "master", bridgeName(number), "up"); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "address", "add", n.IP().String() + "/24", "dev", "eth0"},
		{"ip", "link", "set", "eth0", "up"},
		{"ip", "route", "add", "default", "via", gatewayOf(number).String()},
	} {
		if _, err := n.Exec(ctx, command...); err != nil {
			return err
		}
	}
	return ip("route", "replace", podSubnet(number, n.host), "via", n.IP().String())
}
