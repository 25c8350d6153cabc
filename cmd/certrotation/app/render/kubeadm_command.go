// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/kubeadm"
	"certrotation.dev/registry/nodepod"
)

const kubeadmLong = `Print the StaticPodClass and the ConfigMap with the templates by which the preset kubeadm-etcd rolls
out etcd and kube-apiserver. Run it on one control plane node that kubeadm has set up:

  certrotation kubeadm --image=REGISTRY/certrotation@sha256:... >adoption.yaml

It reads etcd.yaml and kube-apiserver.yaml in --manifest-dir, and no key. The node's name and address
become placeholders, so it is enough to run it on one node if those of the others differ in nothing else.
docs/kubeadm.md has the steps of an adoption and of an upgrade.`

type kubeadmOptions struct {
	ManifestDirectory, Configuration, Image string
}

// NewKubeadmCommand returns the command.
func NewKubeadmCommand() *cobra.Command {
	o := &kubeadmOptions{ManifestDirectory: configv1alpha1.DefaultManifestDirectory, Configuration: configv1alpha1.KubeadmStaticPod}
	command := &cobra.Command{
		Use:          "kubeadm --image=IMAGE",
		Short:        "Print what adopts the etcd of a control plane that kubeadm has set up",
		Long:         kubeadmLong,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE:         func(cmd *cobra.Command, _ []string) error { return o.run(cmd.OutOrStdout()) },
	}
	flags := command.Flags()
	flags.StringVar(&o.Image, "image", o.Image, "The image of certrotation by digest, which installs revisions on the nodes. Required.")
	flags.StringVar(&o.ManifestDirectory, "manifest-dir", o.ManifestDirectory, "The directory in which kubeadm has written etcd.yaml and kube-apiserver.yaml.")
	flags.StringVar(&o.Configuration, "configuration", o.Configuration, "The name of the RotationConfiguration in kube-system that has the preset.")
	return command
}

func (o *kubeadmOptions) run(out io.Writer) error {
	etcd, err := o.read(kubeadm.EtcdManifest)
	if err != nil {
		return err
	}
	apiServer, err := o.read(kubeadm.APIServerManifest)
	if err != nil {
		return err
	}
	adoption, err := kubeadm.Adopt(kubeadm.Manifests{Etcd: etcd, APIServer: apiServer}, o.Configuration, o.Image)
	if err != nil {
		return fmt.Errorf("adopt the manifests in %s: %w", o.ManifestDirectory, err)
	}
	for _, object := range []runtime.Object{adoption.Class, adoption.Templates} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

func (o *kubeadmOptions) read(name string) ([]byte, error) {
	root, err := os.OpenRoot(o.ManifestDirectory)
	if err != nil {
		return nil, fmt.Errorf("open --manifest-dir: %w", err)
	}
	defer root.Close()
	text, err := nodepod.ReadFile(root.FS(), name, nodepod.MaxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(o.ManifestDirectory, name), err)
	}
	return text, nil
}
