// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	sidecar "certrotation.dev/controller/agent"
	"certrotation.dev/controller/reload"
)

// DefaultBindAddress of health and metrics, which only the containers of the pod can reach.
const DefaultBindAddress = "127.0.0.1:10280"

// Options of the command.
type Options struct {
	// Kubeconfig is a file, "" for the configuration of the pod.
	Kubeconfig string
	Member     reload.Member

	Certificate, Anchors string
	Prove                sidecar.Prove
	ReportsFiles         bool

	// ReloadSignal is sent to the process of PIDFile or ProcessName.
	ReloadSignal, PIDFile, ProcessName string
	ReloadHTTP, ReloadHTTPMethod       string
	ReloadExec                         []string
	ReloadTimeout                      time.Duration

	// BindAddress is host:port of health and metrics; "" serves neither.
	BindAddress string
	Logs        *logsapi.LoggingConfiguration
}

// NewOptions returns the defaults, and the pod's identity from the environment.
func NewOptions() *Options {
	member, _ := reload.Pod("", "") // Validate checks it when the flags are known.
	return &Options{
		Member: member, ReloadHTTPMethod: http.MethodPost, ReloadTimeout: 30 * time.Second, BindAddress: DefaultBindAddress, Logs: logs.NewOptions(),
	}
}

// Flags returns the flags in sections, as --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	o.addReport(&sections)
	fs := sections.FlagSet("proof")
	fs.StringVar(&o.Certificate, "certificate", o.Certificate, "The mounted certificate of the program. Its key is not needed. Empty if the program presents none.")
	fs.StringVar(&o.Anchors, "anchors", o.Anchors, "The mounted trust anchors of the program. Empty if it verifies no peers.")
	fs.StringVar(&o.Prove.Address, "prove", o.Prove.Address, "HOST:PORT on localhost at which the program answers with TLS, such as localhost:8443.")
	fs.StringVar(&o.Prove.ServerName, "server-name", o.Prove.ServerName, "The name to ask the program for, if it has certificates of several names.")
	fs.StringVar(&o.Prove.ClientCertificate, "client-certificate", o.Prove.ClientCertificate,
		"A certificate to present to a program that asks for one, so that it logs no refused handshake. Its key is --client-key.")
	fs.StringVar(&o.Prove.ClientKey, "client-key", o.Prove.ClientKey, "The key of --client-certificate.")
	fs.BoolVar(&o.ReportsFiles, "reports-files", o.ReportsFiles,
		"Report what is mounted after each reload that succeeded, for a program without a TLS port. That is weaker evidence: the program itself is not probed.")
	o.addReload(&sections)
	sections.FlagSet("serving").StringVar(&o.BindAddress, "bind-address", o.BindAddress, "HOST:PORT of /livez, /readyz and /metrics, without TLS. Empty serves none.")
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

func (o *Options) addReport(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("report")
	fs.StringVar(&o.Member.Signer, "signer", o.Member.Signer, "The signer whose rotations are acknowledged. Required.")
	fs.StringVar(&o.Member.Party, "party", o.Member.Party, "The relying party that the pod is a member of. Required.")
	defaulted := func(p *string, flag, env, usage string) {
		fs.StringVar(p, flag, *p, usage+" Defaults to $"+env+".")
		fs.Lookup(flag).DefValue = "" // or --help would show the values of this pod
	}
	defaulted(&o.Member.Namespace, "namespace", reload.EnvNamespace, "The namespace of the signer.")
	defaulted(&o.Member.Name, "member", reload.EnvName, "The member of the party, which is the pod's name.")
	defaulted(&o.Member.Instance, "instance", reload.EnvUID, "The process among those of the member, which is the pod's UID.")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "A kubeconfig file. Without it the pod's service account is used.")
}

func (o *Options) addReload(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("reload")
	fs.StringVar(&o.ReloadSignal, "reload-signal", o.ReloadSignal,
		"The signal that has the program reload, such as HUP, for the process of --pid-file or --process-name. The pod needs shareProcessNamespace.")
	fs.StringVar(&o.PIDFile, "pid-file", o.PIDFile, "The file in which the program writes its process number, on a volume that both have mounted.")
	fs.StringVar(&o.ProcessName, "process-name", o.ProcessName, "The name of the program's process, as in /proc/PID/comm, where it has 15 characters at most.")
	fs.StringVar(&o.ReloadHTTP, "reload-http", o.ReloadHTTP, "A URL on localhost that has the program reload, such as http://localhost:9090/-/reload.")
	fs.StringVar(&o.ReloadHTTPMethod, "reload-http-method", o.ReloadHTTPMethod, "POST or GET.")
	fs.StringArrayVar(&o.ReloadExec, "reload-exec", o.ReloadExec, "A command that has the program reload: once for the command, and again for each of its arguments.")
	fs.DurationVar(&o.ReloadTimeout, "reload-timeout", o.ReloadTimeout, "How long a reload may take.")
}

const processes = "/proc"
