// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"text/template"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/controller/secrets/kinds"
)

//go:embed templates
var templates embed.FS

// resources of the kinds in the templates.
var resources = map[string]schema.GroupVersionResource{
	"Service":             corev1.SchemeGroupVersion.WithResource("services"),
	"PodDisruptionBudget": policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
	"StatefulSet":         appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	"Deployment":          appsv1.SchemeGroupVersion.WithResource("deployments"),
}

// deploy applies the workloads: etcd, and when its members are replaced, kube-apiserver and the node. It reports whether all pods
// are those of now.
func (o *operator) deploy(ctx context.Context, namespace string, made *generated) (bool, error) {
	if err := o.apply(ctx, namespace, "etcd.yaml", made); err != nil {
		return false, err
	}
	etcd, err := o.client.AppsV1().StatefulSets(namespace).Get(ctx, "etcd", metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("look at etcd in %s: %w", namespace, err)
	}
	if s := etcd.Status; s.ObservedGeneration < etcd.Generation || s.UpdatedReplicas != *etcd.Spec.Replicas || s.AvailableReplicas != *etcd.Spec.Replicas ||
		s.Replicas != *etcd.Spec.Replicas {
		return false, nil
	}
	for _, name := range []string{apiServer, node} {
		if err := o.apply(ctx, namespace, name+".yaml", made); err != nil {
			return false, err
		}
	}
	for _, name := range []string{apiServer, node} {
		server, err := o.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("look at %s in %s: %w", name, namespace, err)
		}
		s, want := server.Status, *server.Spec.Replicas
		if s.ObservedGeneration < server.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
			return false, nil
		}
	}
	return o.noneEnds(ctx, namespace)
}

// noneEnds reports whether no pod is about to end. A Deployment does not count those.
func (o *operator) noneEnds(ctx context.Context, namespace string) (bool, error) {
	pods, err := o.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app in (etcd, kube-apiserver, node)"})
	if err != nil {
		return false, fmt.Errorf("list the pods of %s: %w", namespace, err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			return false, nil
		}
	}
	return true, nil
}

// apply applies the objects of a template on the server's side.
func (o *operator) apply(ctx context.Context, namespace, file string, made *generated) error {
	objects, err := made.render(file)
	if err != nil {
		return err
	}
	for _, object := range objects {
		resource, known := resources[object.GetKind()]
		if !known {
			return fmt.Errorf("template %s has a %s", file, object.GetKind())
		}
		_, err := o.objects.Resource(resource).Namespace(namespace).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: identity, Force: true})
		if err != nil {
			return fmt.Errorf("apply %s %s/%s: %w", object.GetKind(), namespace, object.GetName(), err)
		}
	}
	return nil
}

// render fills in the names of the Secrets.
func (g *generated) render(file string) ([]*unstructured.Unstructured, error) {
	functions := template.FuncMap{
		"bundle":      func(authority string) string { return g.bundles[authority].Name },
		"certificate": func(name string) string { return g.certificates[name].Name },
		"keys":        func() string { return g.composed },
	}
	parsed, err := template.New(file).Funcs(functions).ParseFS(templates, "templates/"+file)
	if err != nil {
		return nil, fmt.Errorf("parse template %s: %w", file, err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, nil); err != nil {
		return nil, fmt.Errorf("fill in template %s: %w", file, err)
	}
	var out []*unstructured.Unstructured
	for document := range bytes.SplitSeq(text.Bytes(), []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("read template %s: %w", file, err)
		}
		out = append(out, object)
	}
	return out, nil
}

// connect returns a client of the control plane, with the rights of its administrator.
func (g *generated) connect(namespace string) (kubernetes.Interface, error) {
	pair := g.certificates[administrator].Data
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "https://kube-apiserver." + namespace + ".svc:6443", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   g.bundles[ca].Data[kinds.DataKeyCertificateBundle],
			CertData: pair[kinds.DataKeyCertificate], KeyData: pair[kinds.DataKeyPrivateKey],
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the control plane %s: %w", namespace, err)
	}
	return client, nil
}
