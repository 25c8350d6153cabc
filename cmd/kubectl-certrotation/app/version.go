// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/version"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

const (
	// openAPIPath is where kube-apiserver passes on the OpenAPI document of the server, which has its version.
	openAPIPath = "/openapi/v3/apis/" + v1alpha1.GroupName + "/v1alpha1"
	// maxOpenAPIBytes is many times the size of the document.
	maxOpenAPIBytes = 8 << 20
)

type versionOptions struct {
	client bool
	output output
}

// versions is the output of -o.
type versions struct {
	ClientVersion apimachineryversion.Info `json:"clientVersion"`
	ServerVersion *serverVersion           `json:"serverVersion,omitempty"`
}

type serverVersion struct {
	GitVersion string `json:"gitVersion"`
}

func (p *plugin) newVersion() *cobra.Command {
	o := &versionOptions{}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the plugin and of the certrotation API server",
		Example: `  kubectl certrotation version

  # For a program, without a cluster
  kubectl certrotation version --client -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return p.version(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.client, "client", false, "Print the version of the plugin only.")
	o.output = addOutputFlags(cmd)
	return cmd
}

// version prints the plugin's own version even if the server cannot be asked, as kubectl does.
func (p *plugin) version(ctx context.Context, o *versionOptions) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	found := versions{ClientVersion: version.Get()}
	var unknown error
	if !o.client {
		found.ServerVersion, unknown = p.serverVersion(ctx)
	}
	if err := p.printVersions(o.output, &found); err != nil || found.ServerVersion == nil {
		return errors.Join(err, unknown)
	}
	if skew := skewOf(found.ClientVersion.GitVersion, found.ServerVersion.GitVersion); skew != "" {
		fmt.Fprintln(p.Streams.ErrOut, "WARNING: "+skew)
	}
	return nil
}

func (p *plugin) printVersions(o output, found *versions) error {
	if o.requested() {
		return o.print(p.Streams.Out, found)
	}
	text := fmt.Sprintf("Client Version: %s\n", found.ClientVersion.GitVersion)
	if found.ServerVersion != nil {
		text += fmt.Sprintf("Server Version: %s\n", found.ServerVersion.GitVersion)
	}
	_, err := io.WriteString(p.Streams.Out, text)
	return err
}

func (p *plugin) serverVersion(ctx context.Context) (*serverVersion, error) {
	t, err := p.connect("")
	if err != nil {
		return nil, err
	}
	body, err := t.client.Discovery().RESTClient().Get().AbsPath(openAPIPath).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return nil, fail(verbRead, t, err)
	}
	defer body.Close()
	var document struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if err := json.NewDecoder(io.LimitReader(body, maxOpenAPIBytes)).Decode(&document); err != nil {
		return nil, fmt.Errorf("decode %s: %w", openAPIPath, err)
	}
	if document.Info.Version == "" {
		return nil, fmt.Errorf("%s names no version of the server", openAPIPath)
	}
	return &serverVersion{GitVersion: oneLine(document.Info.Version)}, nil
}

// skewOf warns if the minor versions differ: the API is v1alpha1, and promises nothing between two.
func skewOf(client, server string) string {
	ours, err := utilversion.ParseSemantic(client)
	if err != nil {
		return ""
	}
	theirs, err := utilversion.ParseSemantic(server)
	if err != nil || ours.Major() == theirs.Major() && ours.Minor() == theirs.Minor() {
		return ""
	}
	than := "older"
	if theirs.LessThan(ours) {
		than = "newer"
	}
	return fmt.Sprintf("the plugin (%s) is %s than the server (%s): use the plugin of the server's version", client, than, server)
}
