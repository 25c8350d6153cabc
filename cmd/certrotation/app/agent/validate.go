// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Validate returns everything that is wrong with the options.
func (o *Options) Validate() error {
	errs := []error{o.Member.Check()}
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.Certificate == "" && o.Anchors == "", "one of --certificate and --anchors is required")
	refuse((o.Prove.Address == "") == !o.ReportsFiles, "either --prove or --reports-files is required")
	refuse(o.ReportsFiles && o.reloads() == 0, "--reports-files needs --reload-signal, --reload-http or --reload-exec: what is only mounted is not reported")
	refuse(o.reloads() > 1, "only one of --reload-signal, --reload-http and --reload-exec may be given")
	refuse((o.Prove.ClientCertificate == "") != (o.Prove.ClientKey == ""), "--client-certificate and --client-key belong together")
	refuse(o.ReloadTimeout <= 0, "--reload-timeout is %s, want more than 0", o.ReloadTimeout)
	if o.Prove.Address != "" {
		errs = append(errs, checkLocal("--prove", o.Prove.Address))
	}
	errs = append(errs, o.validateSignal(), o.validateHTTP())
	return errors.Join(errs...)
}

func (o *Options) reloads() int {
	n := 0
	for _, given := range []bool{o.ReloadSignal != "", o.ReloadHTTP != "", len(o.ReloadExec) > 0} {
		if given {
			n++
		}
	}
	return n
}

func (o *Options) validateSignal() error {
	switch {
	case o.ReloadSignal == "" && (o.PIDFile != "" || o.ProcessName != ""):
		return errors.New("--pid-file and --process-name need --reload-signal")
	case o.ReloadSignal == "":
		return nil
	case (o.PIDFile == "") == (o.ProcessName == ""):
		return errors.New("--reload-signal needs one of --pid-file and --process-name")
	}
	_, err := parseSignal(o.ReloadSignal)
	return err
}

// ending are the signals after which no program is left to probe.
var ending = []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTERM}

// parseSignal accepts HUP and SIGHUP alike.
func parseSignal(name string) (syscall.Signal, error) {
	signal := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	if signal == 0 {
		return 0, fmt.Errorf("--reload-signal is %q, want the name of a signal, such as HUP", name)
	}
	if slices.Contains(ending, signal) {
		return 0, fmt.Errorf("--reload-signal is %q, which ends or stops a program instead of reloading it", name)
	}
	return signal, nil
}

func (o *Options) validateHTTP() error {
	if o.ReloadHTTP == "" {
		return nil
	}
	if o.ReloadHTTPMethod != http.MethodPost && o.ReloadHTTPMethod != http.MethodGet {
		return fmt.Errorf("--reload-http-method is %q, want POST or GET", o.ReloadHTTPMethod)
	}
	parsed, err := url.Parse(o.ReloadHTTP)
	if err != nil || parsed.Scheme != "http" || parsed.Port() == "" {
		return fmt.Errorf("--reload-http is %q, want http://localhost:PORT/PATH", o.ReloadHTTP)
	}
	return checkLocal("--reload-http", parsed.Host)
}

// checkLocal refuses addresses outside this pod.
func checkLocal(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("%s is %q, want localhost:PORT", flag, address)
	}
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is %q, want localhost:PORT: the agent acknowledges for a program of its own pod only", flag, address)
	}
	return nil
}
