// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"certrotation.dev/registry/address"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ranges(t *testing.T, texts ...string) []netip.Prefix {
	t.Helper()
	out, err := address.ParseRanges(texts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		address         string
		allowed, denied []string
		want            string
	}{
		"a machine":                       {address: "10.0.0.10"},
		"a machine, IPv6":                 {address: "2001:db8::1"},
		"loopback":                        {address: "127.0.0.1", want: "loopback"},
		"all of loopback":                 {address: "127.255.0.3", want: "loopback"},
		"loopback, IPv6":                  {address: "::1", want: "loopback"},
		"this host":                       {address: "0.0.0.0", want: "unspecified"},
		"this host, IPv6":                 {address: "::", want: "unspecified"},
		"this network":                    {address: "0.1.2.3", want: "unspecified"},
		"multicast":                       {address: "224.0.0.1", want: "multicast"},
		"multicast, IPv6":                 {address: "ff02::1", want: "multicast"},
		"broadcast":                       {address: "255.255.255.255", want: "reserved"},
		"link-local":                      {address: "169.254.0.1", want: "link-local"},
		"metadata":                        {address: "169.254.169.254", want: "link-local"},
		"metadata of AWS, IPv6":           {address: "fd00:ec2::254", want: "a metadata service"},
		"metadata of Google, IPv6":        {address: "fd20:ce::254", want: "a metadata service"},
		"metadata of Azure":               {address: "168.63.129.16", want: "a metadata service"},
		"metadata of Alibaba":             {address: "100.100.100.200", want: "a metadata service"},
		"link-local, IPv6":                {address: "fe80::1", want: "link-local"},
		"link-local with a zone":          {address: "fe80::1%eth0", want: "link-local"},
		"an address with a zone":          {address: "2001:db8::1%eth0", want: "link-local"},
		"loopback mapped":                 {address: "::ffff:127.0.0.1", want: "loopback"},
		"metadata mapped":                 {address: "::ffff:169.254.169.254", want: "link-local"},
		"loopback compatible":             {address: "::127.0.0.1", want: "loopback"},
		"loopback translated":             {address: "::ffff:0:127.0.0.1", want: "loopback"},
		"metadata through NAT64":          {address: "64:ff9b::a9fe:a9fe", want: "link-local"},
		"loopback through local NAT64":    {address: "64:ff9b:1::7f00:1", want: "loopback"},
		"metadata in NAT64 of 48 bits":    {address: "64:ff9b:1:a9fe:a9:fe00::", want: "link-local"},
		"a machine through NAT64":         {address: "64:ff9b::808:808"},
		"loopback through 6to4":           {address: "2002:7f00:1::1", want: "loopback"},
		"a server of Teredo that is none": {address: "2001::1:5601:5601", want: "unspecified"},
		"metadata as client of Teredo":    {address: "2001:0:808:808::5601:5601", want: "link-local"},
		"metadata through ISATAP":         {address: "2001:db8::5efe:a9fe:a9fe", want: "link-local"},
		"allowed again":                   {address: "127.0.0.1", allowed: []string{"127.0.0.0/8"}},
		"allowed again, mapped":           {address: "::ffff:127.0.0.1", allowed: []string{"127.0.0.0/8"}},
		"allowed as mapped":               {address: "127.0.0.1", allowed: []string{"::ffff:127.0.0.0/104"}},
		"another range is allowed":        {address: "127.0.0.1", allowed: []string{"10.0.0.0/8"}, want: "loopback"},
		"allowed with a zone":             {address: "fe80::1%eth0", allowed: []string{"fe80::/10"}},
		"denied":                          {address: "10.0.0.10", denied: []string{"10.0.0.0/24"}, want: "in a range that this installation denies"},
		"denied, mapped":                  {address: "::ffff:10.0.0.10", denied: []string{"10.0.0.0/24"}, want: "in a range that this installation denies"},
		"denied through NAT64":            {address: "64:ff9b::a00:a", denied: []string{"10.0.0.0/24"}, want: "in a range that this installation denies"},
		"denied wins over allowed":        {address: "127.0.0.1", allowed: []string{"127.0.0.0/8"}, denied: []string{"127.0.0.1/32"}, want: "in a range that this installation denies"},
		"host bits of a range are taken":  {address: "10.0.0.10", denied: []string{"10.0.0.99/24"}, want: "in a range that this installation denies"},
		"beside a denied range":           {address: "10.0.1.10", denied: []string{"10.0.0.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(ranges(t, tc.allowed...), ranges(t, tc.denied...))
			got := ""
			if refusal := d.Judge(netip.MustParseAddr(tc.address)); refusal != nil {
				got = refusal.Range
			}
			if got != tc.want {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDial uses a server that listens, so a refused address was not connected to.
func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	loopback := New(ranges(t, "127.0.0.0/8"), nil)
	for name, tc := range map[string]struct {
		dialer  *Dialer
		network string
		address string
		refused bool
	}{
		"address":              {dialer: &Dialer{}, address: "127.0.0.1:" + port, refused: true},
		"mapped address":       {dialer: &Dialer{}, address: "[::ffff:127.0.0.1]:" + port, refused: true},
		"name":                 {dialer: &Dialer{}, address: "localhost:" + port, refused: true},
		"no host":              {dialer: &Dialer{}, address: ":" + port, refused: true},
		"allowed address":      {dialer: loopback, address: "127.0.0.1:" + port},
		"name that is allowed": {dialer: loopback, network: "tcp4", address: "localhost:" + port},
		"allowed and denied":   {dialer: New(ranges(t, "127.0.0.0/8"), ranges(t, "127.0.0.0/30")), address: "127.0.0.1:" + port, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			network := tc.network
			if network == "" {
				network = "tcp"
			}
			conn, err := tc.dialer.DialContext(t.Context(), network, tc.address)
			if err == nil {
				conn.Close()
			}
			if _, refused := errors.AsType[*Refusal](err); refused != tc.refused || (err == nil) == tc.refused {
				t.Errorf("error %v, want a refusal: %v", err, tc.refused)
			}
		})
	}
}

func TestOnlyTCPIsDialled(t *testing.T) {
	d := New(ranges(t, "127.0.0.0/8"), nil)
	for network, address := range map[string]string{"unix": t.TempDir() + "/socket", "udp": "127.0.0.1:53"} {
		conn, err := d.DialContext(t.Context(), network, address)
		if err == nil {
			conn.Close()
			t.Errorf("%s was dialled", network)
		}
	}
}
