//go:build before_1_27

package main

import (
	"google.golang.org/grpc"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// podResourcesLister gives the kubelet's own server of pod resources, and the limits that it has there: none.
func podResourcesLister(devices podresources.DevicesProvider, pods podresources.PodsProvider) (podresourcesapi.PodResourcesListerServer, []grpc.ServerOption, error) {
	return podresources.NewV1PodResourcesServer(pods, devices, nothingElse{}, nothingElse{}), nil, nil
}
