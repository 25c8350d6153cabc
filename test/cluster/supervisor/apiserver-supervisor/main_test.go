// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/cluster/supervisor"
)

func TestParse(t *testing.T) {
	o := &options{
		servers: []string{"kube-apiserver-0=127.0.0.1:1", "kube-apiserver-1=127.0.0.1:2"}, bundle: "a/b", leaf: "c/d",
		serverFlags: []string{"kube-apiserver-1=--etcd-servers=https://x"},
		acknowls:    []string{"openshift-etcd/etcd-signer/clients"},
	}
	if err := o.parse(); err != nil {
		t.Fatal(err)
	}
	want := supervisor.Config{
		Servers:     []supervisor.Server{{Name: "kube-apiserver-0", Address: "127.0.0.1:1"}, {Name: "kube-apiserver-1", Address: "127.0.0.1:2", Flags: []string{"--etcd-servers=https://x"}}},
		Bundle:      types.NamespacedName{Namespace: "a", Name: "b"},
		Leaf:        types.NamespacedName{Namespace: "c", Name: "d"},
		Acknowledge: []supervisor.Target{{Signer: types.NamespacedName{Namespace: "openshift-etcd", Name: "etcd-signer"}, Party: "clients"}},
	}
	if diff := cmp.Diff(want, o.config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	all := [...]string{"--dir=d", "--seed-dir=s", "--kube-apiserver=p", "--listen=127.0.0.1:0", "--kubeconfig=/nowhere"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":     {want: "required flag"},
		"server":      {args: append(all[:], "--server=x", "--bundle=a/b", "--leaf=c/d"), want: "NAME=HOST:PORT"},
		"bundle":      {args: append(all[:], "--server=x=h:1", "--bundle=b", "--leaf=c/d"), want: "--bundle"},
		"server flag": {args: append(all[:], "--server=x=h:1", "--bundle=a/b", "--leaf=c/d", "--server-flag=y=--v=1"), want: "with the name of a --server"},
		"acknowledge": {args: append(all[:], "--server=x=h:1", "--bundle=a/b", "--leaf=c/d", "--acknowledge=a/b"), want: "NAMESPACE/SIGNER/PARTY"},
		"kubeconfig":  {args: append(all[:], "--server=x=h:1", "--bundle=a/b", "--leaf=c/d"), want: "--kubeconfig /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newCommand()
			cmd.SetArgs(append([]string{}, c.args...))
			cmd.SetOut(io.Discard)
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to contain %q", err, c.want)
			}
		})
	}
}
