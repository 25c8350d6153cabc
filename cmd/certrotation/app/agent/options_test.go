// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"certrotation.dev/controller/reload"
)

func init() {
	flag.Bool("update", false, "write the golden files")
}

// inPod sets the environment variables that the spec of a pod sets.
func inPod(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{reload.EnvNamespace: "ns", reload.EnvName: "server-0", reload.EnvUID: "uid"} {
		t.Setenv(name, value)
	}
}

// and returns a copy of args with more arguments.
func and(args []string, more ...string) []string { return slices.Concat(args, more) }

func TestValidate(t *testing.T) {
	inPod(t)
	report := []string{"--signer=s", "--party=p", "--anchors=/trust/ca-bundle.crt"}
	prove := and(report, "--prove=localhost:8443")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"a proof":                     {prove, ""},
		"a proof at an address":       {and(report, "--prove=[::1]:8443"), ""},
		"a proof, and a signal":       {and(prove, "--reload-signal=SIGHUP", "--process-name=nginx"), ""},
		"files after a request":       {and(report, "--reports-files", "--reload-http=http://localhost:9090/-/reload"), ""},
		"files after a command":       {and(report, "--reports-files", "--reload-exec=/bin/reload", "--reload-exec=-q"), ""},
		"no signer":                   {[]string{"--party=p", "--anchors=/a", "--prove=localhost:1"}, "the signer has no name"},
		"no party":                    {[]string{"--signer=p", "--anchors=/a", "--prove=localhost:1"}, "the relying party has no name"},
		"no member":                   {and(prove, "--member="), "metadata.name"},
		"no files":                    {[]string{"--signer=s", "--party=p", "--prove=localhost:1"}, "--certificate and --anchors"},
		"no proof":                    {report, "either --prove or --reports-files"},
		"two proofs":                  {and(prove, "--reports-files", "--reload-exec=x"), "either --prove or --reports-files"},
		"files that nobody reloads":   {and(report, "--reports-files"), "only mounted"},
		"two reloads":                 {and(prove, "--reload-exec=x", "--reload-http=http://localhost:1/"), "only one of"},
		"a server elsewhere":          {and(report, "--prove=server.ns.svc:8443"), "its own pod only"},
		"a server at another address": {and(report, "--prove=10.0.0.1:8443"), "its own pod only"},
		"no port":                     {and(report, "--prove=localhost"), "localhost:PORT"},
		"half a client certificate":   {and(prove, "--client-key=/tls.key"), "belong together"},
		"a signal to nobody":          {and(prove, "--reload-signal=HUP"), "one of --pid-file and --process-name"},
		"nothing to signal with":      {and(prove, "--pid-file=/run/pid"), "need --reload-signal"},
		"no such signal":              {and(prove, "--reload-signal=RELOAD", "--pid-file=/run/pid"), "name of a signal"},
		"a signal that ends it":       {and(prove, "--reload-signal=kill", "--pid-file=/run/pid"), "ends or stops"},
		"a request elsewhere":         {and(prove, "--reload-http=http://example.com:80/"), "its own pod only"},
		"a request by TLS":            {and(prove, "--reload-http=https://localhost:80/"), "http://localhost:PORT/PATH"},
		"a request without a port":    {and(prove, "--reload-http=http://localhost/"), "http://localhost:PORT/PATH"},
		"a method of another kind":    {and(prove, "--reload-http=http://localhost:1/", "--reload-http-method=DELETE"), "POST or GET"},
		"no time to reload":           {and(prove, "--reload-timeout=0s"), "--reload-timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			command, options := newCommand()
			if err := command.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			err := options.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestHelp compares --help with testdata/help.txt, without the flags of the libraries. `go test -update` writes
// the file.
func TestHelp(t *testing.T) {
	inPod(t)
	var out bytes.Buffer
	command := NewCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(out.String(), "Logs flags:")
	const golden = "testdata/help.txt"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("--help changed; run with -update and look at it:\n%s", got)
	}
}
