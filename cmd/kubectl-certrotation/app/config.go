// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io"
	"os"

	"golang.org/x/term"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"certrotation.dev/generated/clientset/versioned"
)

// Config of the plugin. Only Streams is required.
type Config struct {
	Streams genericiooptions.IOStreams
	// Clock defaults to the system clock. Its location is the one that times are printed in.
	Clock clock.WithTicker
	// Getenv defaults to os.Getenv.
	Getenv func(name string) string
	// TerminalWidth returns the number of columns of the terminal behind a stream, 0 if there is none. It defaults to
	// asking the operating system.
	TerminalWidth func(stream io.Writer) int
	// Client makes the client. It defaults to the one that kubectl's flags describe.
	Client func(flags *genericclioptions.ConfigFlags) (versioned.Interface, error)
	// Core makes the client of Kubernetes itself, for adopt and release. It defaults likewise.
	Core func(flags *genericclioptions.ConfigFlags) (kubernetes.Interface, error)
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

// terminalWidth counts 80 columns where a terminal does not tell.
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
