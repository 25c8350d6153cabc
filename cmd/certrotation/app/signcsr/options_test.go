// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"
)

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Options)
		want string
	}{
		"no authentication":  {func(o *Options) { o.TokenFile, o.ClientCAFile = "", "" }, "callers must be authenticated"},
		"no CA":              {func(o *Options) { o.CACert, o.CAKey, o.MetricCACert, o.MetricCAKey = "", "", "", "" }, "a CA is required"},
		"half a CA":          {func(o *Options) { o.CAKey = "" }, "--ca-cert-file and --ca-key-file go together"},
		"half a metric CA":   {func(o *Options) { o.MetricCACert = "" }, "--metric-ca-cert-file and --metric-ca-key-file go together"},
		"no serving pair":    {func(o *Options) { o.ServingCerts, o.ServingKeys = nil, nil }, "--tls-cert-file is required"},
		"unequal pairs":      {func(o *Options) { o.ServingKeys = o.ServingKeys[:1] }, "2 --tls-cert-file and 1"},
		"no storage":         {func(o *Options) { o.StorageDir = "" }, "--storage-dir is required"},
		"no node":            {func(o *Options) { o.Nodes, o.NodesFile = nil, "" }, "not configured"},
		"node without names": {func(o *Options) { o.Nodes = []string{"master-0"} }, "NAME=ADDRESS"},
		"short validity":     {func(o *Options) { o.PeerValidity = time.Minute }, "EtcdPeer is 1m0s"},
		"no port":            {func(o *Options) { o.BindAddress = "localhost" }, "want host:port"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			options := *w.options
			tc.edit(&options)
			if err := options.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// TestNewRefuses covers faults of the files. They are found before the signer serves.
func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*world)
		want string
	}{
		"storage in use":         {func(*world) {}, "another process uses it"},
		"storage is open to all": {func(w *world) { w.options.StorageDir = w.openDir() }, "chmod it to 0700"},
		"key of another CA":      {func(w *world) { w.options.CAKey = w.options.MetricCAKey }, "does not belong to the certificate"},
		"leaf as CA": {func(w *world) {
			w.options.CACert, w.options.CAKey = w.options.ServingCerts[0], w.options.ServingKeys[0]
		}, "not a certificate authority"},
		"no such CA":             {func(w *world) { w.options.CACert = filepath.Join(w.dir, "absent") }, "no such file"},
		"short token":            {func(w *world) { w.file("token", []byte("short")) }, "at least 20 characters"},
		"open token":             {func(w *world) { w.chmod("token", 0o640) }, "chmod it to 0600"},
		"empty client CA":        {func(w *world) { w.file("client-ca.crt", nil) }, "bundle is empty"},
		"serving pair":           {func(w *world) { w.options.ServingKeys[0] = w.options.CAKey }, "read serving pair"},
		"bad node":               {func(w *world) { w.options.Nodes = []string{"UPPER=10.0.0.1"} }, `node "UPPER"`},
		"node twice":             {func(w *world) { w.options.Nodes = append(w.options.Nodes, "master-1=10.0.0.1") }, "configured twice"},
		"no address of a server": {func(w *world) { w.options.Nodes = []string{"a=0.0.0.0"} }, "not usable as the IP address"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			tc.edit(w)
			_, ctx := ktesting.NewTestContext(t)
			server, err := New(ctx, w.options, w.clock)
			if err == nil {
				t.Error(server.close())
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func (w *world) openDir() string {
	dir := filepath.Join(w.dir, "open")
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.chmod("open", 0o777)
	return dir
}

func (w *world) chmod(name string, mode os.FileMode) {
	if err := os.Chmod(filepath.Join(w.dir, name), mode); err != nil {
		w.t.Fatal(err)
	}
}

func TestHelpSaysThatAuthenticationIsRequired(t *testing.T) {
	var out bytes.Buffer
	command := NewCommand()
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Every request has to be authenticated", "--token-file", "--client-ca-file", "certrotation.dev/etcd-metric"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
