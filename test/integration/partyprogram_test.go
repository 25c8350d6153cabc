// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/kubeletvolume"
)

//go:embed testdata/parties
var partyFiles embed.FS

// party is a program that serves mutual TLS, and calls the next one.
type party struct {
	// name is that of the program and its relying party. leaf is its Secret.
	name, leaf string
	// executable is in the Debian package.
	executable, debian string
	// file is the configuration, or the program that java runs.
	file string
	// args follow the executable, and reload are flags of the agent. Both are templates.
	args, reload []string

	address string
	// peers is a volume with the anchors of its clients and servers.
	peers   *kubeletvolume.Volume
	process *cluster.Process
}

func partyPrograms() []*party {
	return []*party{
		{
			name: "java", leaf: "java", executable: "java", debian: "default-jdk-headless", file: "Party.java",
			args: []string{
				"-Xmx128m", "-XX:+UseSerialGC", "{{.Dir}}/Party.java", "{{.Volume}}", "{{.Ports.java}}", "{{.Ports.reload}}", "{{.Ports.nginx}}",
			},
			reload: []string{"--reload-http=http://127.0.0.1:{{.Ports.reload}}/-/reload"},
		},
		{
			name: "haproxy", leaf: "haproxy", executable: "haproxy", debian: "haproxy", file: "haproxy.cfg",
			args:   []string{"-W", "-db", "-f", "{{.Dir}}/haproxy.cfg"},
			reload: []string{"--reload-signal=USR2", "--pid-file={{.PidFile}}"},
		},
		{
			name: "nginx", leaf: "nginx", executable: "nginx", debian: "nginx-light", file: "nginx.conf",
			args:   []string{"-e", "stderr", "-p", "{{.Dir}}", "-c", "{{.Dir}}/nginx.conf"},
			reload: []string{"--reload-signal=HUP", "--pid-file={{.PidFile}}"},
		},
	}
}

// partyPlace is where a program finds its files and peers.
type partyPlace struct {
	Dir, Volume, PidFile string
	Ports                map[string]int
}

func (p *partyPlace) fill(t *testing.T, texts ...string) []string {
	t.Helper()
	var out []string
	for _, text := range texts {
		var filled strings.Builder
		if err := template.Must(template.New("").Option("missingkey=error").Parse(text)).Execute(&filled, p); err != nil {
			t.Fatal(err)
		}
		out = append(out, filled.String())
	}
	return out
}

func freePorts(t *testing.T, names ...string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, name := range names {
		port, err := cluster.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = port
	}
	return out
}

// startParties starts the programs, and returns when they serve.
func (r *ring) startParties(t *testing.T) {
	t.Helper()
	place := &partyPlace{Ports: r.ports}
	for _, p := range r.servers {
		path, err := exec.LookPath(p.executable)
		if err != nil {
			t.Fatalf("%v: install the Debian package %s", err, p.debian)
		}
		text, err := partyFiles.ReadFile("testdata/parties/" + p.file)
		if err != nil {
			t.Fatal(err)
		}
		place.Dir, place.Volume = t.TempDir(), r.volumes.of[p.leaf].Dir
		if err := os.WriteFile(filepath.Join(place.Dir, p.file), []byte(place.fill(t, string(text))[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		p.process = r.AddProcess(r.namespace+"-"+p.name, path, place.fill(t, p.args...)...)
		p.address, p.peers = fmt.Sprintf("127.0.0.1:%d", place.Ports[p.name]), r.volumes.of["client"]
		startInOrder(t, p.process)
		place.PidFile = p.process.PidFile()
		p.reload = place.fill(t, p.reload...)
	}
	for _, p := range r.servers {
		eventually(t, p.name+" serves", func(ctx context.Context) error {
			_, err := p.look(ctx)
			return err
		})
	}
}

// startAgents starts an agent beside each program. Each reports with an account of its own.
func (r *ring) startAgents(t *testing.T) {
	t.Helper()
	for _, p := range r.servers {
		kubeconfig := r.mayReport(t, p.name)
		volume := r.volumes.of[p.leaf]
		args := append([]string{
			"agent", "--kubeconfig=" + kubeconfig, "--namespace=" + r.namespace, "--signer=" + r.signer, "--party=" + p.name,
			"--member=" + p.name, "--instance=" + p.name, "--certificate=" + volume.Path("tls.crt"), "--anchors=" + volume.Path("ca.crt"),
			"--prove=" + p.address, "--client-certificate=" + volume.Path("tls.crt"), "--client-key=" + volume.Path("tls.key"), "--bind-address=",
		}, p.reload...)
		startInOrder(t, r.AddProcess("agent-of-"+p.name, r.program, args...))
	}
}

// mayReport returns a kubeconfig of an account that may acknowledge for a party.
func (r *ring) mayReport(t *testing.T, party string) string {
	t.Helper()
	account := "system:serviceaccount:" + r.namespace + ":" + party
	grantReports(t, r.plane, r.namespace, r.signer, party, account)
	kubeconfig, err := r.UserKubeconfig(account, "system:serviceaccounts")
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// look shakes hands with the program as its agent does.
func (p *party) look(ctx context.Context) (dial.Shown, error) {
	raw, err := dial.Dial(ctx, (&net.Dialer{}).DialContext, p.address)
	if err != nil {
		return dial.Shown{}, err
	}
	defer raw.Close()
	_, shown, err := (&dial.Client{Latest: tls.VersionTLS13}).Shake(ctx, raw)
	switch {
	case shown.Met && shown.Asks:
		return shown, nil
	case err == nil:
		err = errors.New("it asks for no certificate")
	}
	return shown, fmt.Errorf("look at %s: %w", p.name, err)
}

// hasOnly returns an error unless the program presents a leaf of this CA, and lists it alone.
func (p *party) hasOnly(ctx context.Context, ca *pki.Certificate) error {
	shown, err := p.look(ctx)
	if err != nil {
		return err
	}
	leaf, err := pki.ParseCertificate(shown.Presents[0].Raw)
	if err != nil {
		return err
	}
	if listed := trust.Listed(shown.Subjects, []*pki.Certificate{ca}, time.Now()); len(listed) != 1 || len(shown.Subjects) != 1 || !leaf.SignedBy(ca) {
		return fmt.Errorf("it lists %d CAs, %d of them the new one, and presents a leaf of %s", len(shown.Subjects), len(listed), leaf.Issuer)
	}
	return nil
}

// accepts returns an error unless the request of a client with this leaf is answered.
func (p *party) accepts(ctx context.Context, leaf *tls.Certificate) error {
	code, text, err := p.ask(ctx, leaf)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", p.name, code, text)
	}
	return err
}

// refuses returns an error unless the program refuses the certificate: by an alert, or as nginx does, by its answer.
func (p *party) refuses(ctx context.Context, leaf *tls.Certificate) error {
	code, text, err := p.ask(ctx, leaf)
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" || code == http.StatusBadRequest && strings.Contains(text, "SSL certificate error") {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it answers %d: %s", code, text)
	}
	return fmt.Errorf("ask %s: %w", p.name, err)
}

// ask sends a request with a leaf, regardless of which CAs the program lists. With TLS 1.2 a refusal ends the
// handshake.
func (p *party) ask(ctx context.Context, leaf *tls.Certificate) (code int, text string, err error) {
	anchors, err := os.ReadFile(p.peers.Path("ca.crt"))
	if err != nil {
		return 0, "", err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(anchors)
	return get(ctx, "https://"+p.address+"/", &tls.Config{
		RootCAs: pool, ServerName: p.name + ".parties.svc", MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return leaf, nil },
	})
}

// get sends a request over a connection of its own.
func get(ctx context.Context, url string, config *tls.Config) (code int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(body)), err
}
