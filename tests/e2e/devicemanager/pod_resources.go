package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

// servePodResources answers on the socket as the kubelet does, until the server is stopped.
func servePodResources(socket string, manager *devicemanager.ObservedManager, pods *podSet) (*grpc.Server, error) {
	lister, limits, err := podResourcesLister(managersDevices{manager}, podsByName{pods})
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(limits...)
	podresourcesapi.RegisterPodResourcesListerServer(server, lister)
	return server, serveOn(socket, server)
}

// serveOn replaces a socket that somebody left, and leaves its own behind, as the kubelet does.
func serveOn(socket string, server *grpc.Server) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	go func() { _ = server.Serve(listener) }() // it ends when the server is stopped
	return nil
}

// managersDevices is what the kubelet's container manager makes of its device manager.
type managersDevices struct{ *devicemanager.ObservedManager }

func (m managersDevices) GetDevices(pod, container string) []*podresourcesapi.ContainerDevices {
	return inWords(m.ObservedManager.GetDevices(pod, container))
}

// inWords tells a device of several NUMA nodes once for each, as the kubelet does.
func inWords(resources devicemanager.ResourceDeviceInstances) []*podresourcesapi.ContainerDevices {
	var told []*podresourcesapi.ContainerDevices
	for resource, devices := range resources {
		for id, device := range devices {
			tell := func(topology *podresourcesapi.TopologyInfo) {
				told = append(told, &podresourcesapi.ContainerDevices{
					ResourceName: resource, DeviceIds: []string{id}, Topology: topology,
				})
			}
			if device.Topology == nil {
				tell(nil)
				continue
			}
			for _, node := range device.Topology.Nodes {
				tell(&podresourcesapi.TopologyInfo{Nodes: []*podresourcesapi.NUMANode{{ID: node.ID}}})
			}
		}
	}
	return told
}

type podsByName struct{ *podSet }

func (p podsByName) GetPods() []*v1.Pod                          { return p.list() }
func (p podsByName) GetActivePods() []*v1.Pod                    { return p.list() }
func (p podsByName) GetPodByName(_, name string) (*v1.Pod, bool) { return p.find(name) }

// nothingElse is the CPUs and the memory of a node that has none to give.
type nothingElse struct{}
