// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"certrotation.dev/generated/clientset/versioned"
	typed "certrotation.dev/generated/clientset/versioned/typed/certrotation/v1alpha1"
)

// Run executes one command line and returns the exit code: 0, 1 for a failure, the code of an exitError, or 130 when
// ctx was cancelled, as shells report an interrupt.
func Run(ctx context.Context, config Config, args []string) int {
	cmd := NewCommand(config) //nolint:contextcheck // cobra hands the context over in ExecuteContext
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[*interrupted](err); ok {
		fmt.Fprintln(config.Streams.ErrOut, err)
		return 130
	}
	fmt.Fprintln(config.Streams.ErrOut, "error: "+explain(err))
	if ctx.Err() != nil {
		return 130
	}
	if own, ok := errors.AsType[*exitError](err); ok {
		return own.code
	}
	return 1
}

type plugin struct {
	Config

	flags *genericclioptions.ConfigFlags
}

// NewCommand returns the root command.
func NewCommand(config Config) *cobra.Command {
	p := &plugin{Config: config.complete(), flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use:   "kubectl-certrotation",
		Short: "See and rotate the certificates of your own authorities",
		Long: "kubectl certrotation shows where each rotation stands and what holds it up, shows what a rotation would do, " +
			"and asks for it.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl certrotation"},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.Streams.In)
	root.SetOut(p.Streams.Out)
	root.SetErr(p.Streams.ErrOut)
	p.flags.AddFlags(root.PersistentFlags())
	addVerbosity(root)
	// The flag exists: it was added above.
	_ = root.RegisterFlagCompletionFunc("namespace", p.completesNamespaces())
	root.AddCommand(
		p.newDoctor(), p.newStatus(), p.newTree(), p.newReport(), p.newHistory(), p.newPlan(), p.newRotate(), p.newWait(),
		p.newAbort(), p.newCSR(), p.newInstallCA(), p.newAcknowledge(), p.newWaive(),
		p.newAdopt(), p.newRelease(), p.newOperate(), p.newContentHash(),
		p.newCheck(), p.newVersion(),
	)
	return root
}

// addVerbosity adds the one klog flag that kubectl users know: -v=6 and more logs each request.
func addVerbosity(root *cobra.Command) {
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	root.PersistentFlags().AddGoFlag(logging.Lookup("v"))
}

// target is the object that a command acts on: a name in a namespace.
type target struct {
	client versioned.Interface
	// core is nil except for commands that read or write objects of Kubernetes itself.
	core            kubernetes.Interface
	namespace, name string
}

// connect makes the client, and takes the namespace from flags and kubeconfig.
func (p *plugin) connect(name string) (*target, error) {
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	client, err := p.Client(p.flags)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &target{client: client, namespace: namespace, name: name}, nil
}

func (p *plugin) connectCore(name string) (*target, error) {
	t, err := p.connect(name)
	if err != nil {
		return nil, err
	}
	if t.core, err = p.Core(p.flags); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return t, nil
}

func (t *target) rotations() typed.CertificateRotationInterface {
	return t.client.CertrotationV1alpha1().CertificateRotations(t.namespace)
}

func (t *target) bundles() typed.BundleStatusInterface {
	return t.client.CertrotationV1alpha1().BundleStatuses(t.namespace)
}

// String names the target in progress lines and errors.
func (t *target) String() string {
	switch {
	case t.name != "":
		return t.namespace + "/" + t.name
	case t.namespace != "":
		return "namespace " + t.namespace
	}
	return "all namespaces"
}

// command returns a command line of the plugin for the target.
func (t *target) command(verb string) string {
	return fmt.Sprintf("kubectl certrotation %s -n %s %s", verb, t.namespace, t.name)
}

// named requires exactly one argument, the name of a Secret.
func named(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one Secret, got %d arguments; see %s --help",
			cmd.CommandPath(), len(args), cmd.CommandPath())
	}
	return nil
}

// Config of the plugin. Only Streams is required.
type Config struct {
	Streams genericiooptions.IOStreams
	// Clock defaults to the system clock. Times are printed in its location.
	Clock clock.WithTicker
	// Getenv defaults to os.Getenv.
	Getenv func(name string) string
	// TerminalWidth returns the number of columns of the terminal behind a stream, 0 if there is none. It defaults to
	// the width that the operating system reports.
	TerminalWidth func(stream io.Writer) int
	// Client makes the client. It defaults to the client that kubectl's flags describe.
	Client func(flags *genericclioptions.ConfigFlags) (versioned.Interface, error)
	// Core makes the client of Kubernetes itself. It has the same default.
	Core func(flags *genericclioptions.ConfigFlags) (kubernetes.Interface, error)
	// Dynamic makes the client of APIServices and CustomResourceDefinitions, for doctor. It has the same default.
	Dynamic func(flags *genericclioptions.ConfigFlags) (dynamic.Interface, error)
	// ServerTime returns the API server's time, zero if its answer has none. It defaults to the date of an answer.
	ServerTime func(ctx context.Context, flags *genericclioptions.ConfigFlags) (time.Time, error)
}

func (c Config) complete() Config {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.TerminalWidth == nil {
		c.TerminalWidth = terminalWidth
	}
	if c.Client == nil {
		c.Client = newClient
	}
	if c.Core == nil {
		c.Core = newCore
	}
	if c.Dynamic == nil {
		c.Dynamic = newDynamic
	}
	if c.ServerTime == nil {
		c.ServerTime = serverTime
	}
	return c
}

func newClient(flags *genericclioptions.ConfigFlags) (versioned.Interface, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return versioned.NewForConfig(config)
}

func newCore(flags *genericclioptions.ConfigFlags) (kubernetes.Interface, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func newDynamic(flags *genericclioptions.ConfigFlags) (dynamic.Interface, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// serverTime asks for the version, which every account may read. A refusal has a date as well.
func serverTime(ctx context.Context, flags *genericclioptions.ConfigFlags) (time.Time, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return time.Time{}, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return time.Time{}, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return time.Time{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("/version").String(), http.NoBody)
	if err != nil {
		return time.Time{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	// A proxy may drop the date. The other checks need none.
	date, _ := http.ParseTime(response.Header.Get("Date"))
	return date, nil
}

// terminalWidth assumes 80 columns if the terminal does not report its width.
func terminalWidth(stream io.Writer) int {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
