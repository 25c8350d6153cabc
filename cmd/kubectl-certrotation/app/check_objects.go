// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/apis/document"
	"certrotation.dev/registry/survey"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// checkedKey names an object.
type checkedKey struct {
	kind trust.ObjectKind
	types.NamespacedName
}

// checkedObjects are the objects that the guard judges.
type checkedObjects struct {
	secrets        map[types.NamespacedName]*corev1.Secret
	configMaps     map[types.NamespacedName]*corev1.ConfigMap
	configurations map[types.NamespacedName]*configv1alpha1.RotationConfiguration
	files          map[checkedKey]string
}

func newCheckedObjects() checkedObjects {
	return checkedObjects{
		secrets: map[types.NamespacedName]*corev1.Secret{}, configMaps: map[types.NamespacedName]*corev1.ConfigMap{},
		configurations: map[types.NamespacedName]*configv1alpha1.RotationConfiguration{}, files: map[checkedKey]string{},
	}
}

// maxListed bounds lists within lists.
const maxListed = 4

// manifest reads the objects of a file. Errors of parsers may quote what they read, and are not passed on.
func (r *checkReader) manifest(file string, data []byte) {
	documents, err := document.Split(data, maxCheckedBytes)
	if err != nil {
		r.problem("%s %s", oneLine(file), unreadable(data, err))
		return
	}
	for i, text := range documents {
		if isBlank(text) {
			continue
		}
		converted, err := document.Expand(text, maxCheckedBytes)
		if err != nil {
			if isTemplate(text) {
				r.problem("%s %s", oneLine(file), notRendered)
				continue
			}
			r.problem("%s, document %d, %s", oneLine(file), i+1, unreadable(text, err))
			continue
		}
		r.object(file, i+1, converted, 0)
	}
}

func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

var lineNumber = regexp.MustCompile(`line \d+`)

const notRendered = "is a template: render it first, for example with helm template"

func isTemplate(text []byte) bool { return bytes.Contains(text, []byte("{{")) }

// unreadable says why a document cannot be read, and quotes nothing of it.
func unreadable(text []byte, err error) string {
	if isTemplate(text) {
		return notRendered
	}
	reason := "is neither YAML nor JSON"
	for part, say := range map[string]string{
		"aliases stand for":  "has YAML aliases that stand for too much",
		"excessive aliasing": "has YAML aliases that stand for too much",
		"merge keys":         "has YAML merge keys: write out what is merged",
		"duplicate":          "has a field twice",
		"more than":          "has too many values or levels",
	} {
		if strings.Contains(err.Error(), part) {
			reason = say
		}
	}
	if line := lineNumber.FindString(err.Error()); line != "" {
		reason += " (" + line + ")"
	}
	return reason
}

// object reads one object, or all of a list. Kinds without certificates are left out.
func (r *checkReader) object(file string, number int, data []byte, depth int) {
	var of struct {
		metav1.TypeMeta `json:",inline"`

		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(data, &of) != nil || of.Kind == "" {
		return
	}
	if strings.HasSuffix(of.Kind, "List") && depth < maxListed {
		for _, item := range of.Items {
			r.object(file, number, item, depth+1)
		}
		return
	}
	read := readerOf(of.TypeMeta)
	if read == nil {
		return
	}
	if read(r, file, data) != nil {
		r.problem("%s, document %d, is no valid %s of %s", oneLine(file), number, oneLine(of.Kind), oneLine(of.APIVersion))
	}
}

func readerOf(of metav1.TypeMeta) func(r *checkReader, file string, data []byte) error {
	group, _, _ := strings.Cut(of.APIVersion, "/")
	switch of.Kind + "." + group {
	case "Secret.v1":
		return (*checkReader).secret
	case "ConfigMap.v1":
		return (*checkReader).configMap
	case "Config.v1":
		return (*checkReader).kubeconfig
	case "ValidatingWebhookConfiguration.admissionregistration.k8s.io", "MutatingWebhookConfiguration.admissionregistration.k8s.io":
		return (*checkReader).webhooks
	case "APIService.apiregistration.k8s.io":
		return (*checkReader).apiService
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return (*checkReader).definition
	case string(inventory.ConfigurationKind) + "." + configv1alpha1.GroupName:
		return (*checkReader).configuration
	}
	return nil
}

func (r *checkReader) keep(file string, kind trust.ObjectKind, meta *metav1.ObjectMeta) (survey.Place, types.NamespacedName) {
	name := types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name}
	r.objects.files[checkedKey{kind, name}] = file
	return survey.Place{File: file, Object: string(kind) + "/" + meta.Name, Namespace: meta.Namespace}, name
}

func (r *checkReader) secret(file string, data []byte) error {
	secret := &corev1.Secret{}
	if err := json.Unmarshal(data, secret); err != nil {
		return err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	at, name := r.keep(file, trust.SecretKind, &secret.ObjectMeta)
	r.objects.secrets[name] = secret
	r.survey.AddEntries(&survey.Entries{At: at, Group: groupOf(secret.Namespace), Secret: true, Values: secret.Data})
	return nil
}

func groupOf(namespace string) string { return "namespace " + namespace }

func (r *checkReader) configMap(file string, data []byte) error {
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(data, cm); err != nil {
		return err
	}
	at, name := r.keep(file, trust.ConfigMapKind, &cm.ObjectMeta)
	r.objects.configMaps[name] = cm
	values := map[string][]byte{}
	maps.Copy(values, cm.BinaryData)
	for key, value := range cm.Data {
		values[key] = []byte(value)
	}
	r.survey.AddEntries(&survey.Entries{At: at, Group: groupOf(cm.Namespace), Values: values})
	return nil
}

func (r *checkReader) configuration(file string, data []byte) error {
	cfg := &configv1alpha1.RotationConfiguration{}
	if err := json.Unmarshal(data, cfg); err != nil {
		return err
	}
	_, name := r.keep(file, inventory.ConfigurationKind, &cfg.ObjectMeta)
	if cfg.Namespace == "" {
		cfg.Namespace = metav1.NamespaceDefault // What applies it names another one.
	}
	r.objects.configurations[name] = cfg
	return nil
}

// kubeconfig reads the certificates within it. It reads no file that the kubeconfig names.
func (r *checkReader) kubeconfig(file string, data []byte) error {
	config := &clientcmdv1.Config{}
	if err := json.Unmarshal(data, config); err != nil {
		return err
	}
	for i := range config.Clusters {
		at := survey.Place{File: file, Key: "clusters." + config.Clusters[i].Name}
		r.survey.AddBundle(at, config.Clusters[i].Cluster.CertificateAuthorityData, "kubeconfig "+file)
	}
	for i := range config.AuthInfos {
		at := survey.Place{File: file, Key: "users." + config.AuthInfos[i].Name}
		user := &config.AuthInfos[i].AuthInfo
		r.survey.AddPair(at, user.ClientCertificateData, user.ClientKeyData, "client of "+file)
	}
	return nil
}

// serverBundle adds the caBundle of a Service that the API server calls.
func (r *checkReader) serverBundle(at survey.Place, bundle []byte, name, namespace string) {
	server := ""
	if name != "" {
		server = name + "." + namespace + ".svc"
	}
	r.survey.AddServerBundle(at, bundle, server, groupOf(namespace))
}

// webhooks reads both kinds of webhook configurations, whose client configurations are alike.
func (r *checkReader) webhooks(file string, data []byte) error {
	hooks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := json.Unmarshal(data, hooks); err != nil {
		return err
	}
	for i := range hooks.Webhooks {
		client := &hooks.Webhooks[i].ClientConfig
		at := survey.Place{File: file, Object: hooks.Kind + "/" + hooks.Name, Key: "webhooks." + hooks.Webhooks[i].Name}
		name, namespace := "", ""
		if client.Service != nil {
			name, namespace = client.Service.Name, client.Service.Namespace
		}
		r.serverBundle(at, client.CABundle, name, namespace)
	}
	return nil
}

func (r *checkReader) apiService(file string, data []byte) error {
	service := &apiregistrationv1.APIService{}
	if err := json.Unmarshal(data, service); err != nil {
		return err
	}
	if of := service.Spec.Service; of != nil {
		r.serverBundle(survey.Place{File: file, Object: "APIService/" + service.Name, Key: "caBundle"}, service.Spec.CABundle, of.Name, of.Namespace)
	}
	return nil
}

func (r *checkReader) definition(file string, data []byte) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(data, crd); err != nil {
		return err
	}
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.Service == nil {
		return nil
	}
	client := conversion.Webhook.ClientConfig
	at := survey.Place{File: file, Object: "CustomResourceDefinition/" + crd.Name, Key: "caBundle"}
	r.serverBundle(at, client.CABundle, client.Service.Name, client.Service.Namespace)
	return nil
}
