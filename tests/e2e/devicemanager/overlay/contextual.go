// For Kubernetes from 1.35 on.
package devicemanager

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// NewObservedManager makes a manager that will listen at socket, an absolute path. Its checkpoint lies beside the socket.
func NewObservedManager(socket string, nodes []cadvisorapi.Node, topology topologymanager.Manager, observer Observer) (*ObservedManager, error) {
	logger := klog.Background()
	manager, err := newManagerImpl(logger, socket, nodes, topology)
	if err != nil {
		return nil, err
	}
	observed := &ObservedManager{manager, topology, observer}
	if manager.server, err = plugin.NewServer(logger, socket, manager, observed); err != nil {
		return nil, err
	}
	topology.AddHintProvider(logger, observed)
	return observed, nil
}

func (o *ObservedManager) PluginConnected(ctx context.Context, resource string, p plugin.DevicePlugin) error {
	if err := o.ManagerImpl.PluginConnected(ctx, resource, p); err != nil {
		return err
	}
	o.connected(resource, p.SocketPath())
	return nil
}

func (o *ObservedManager) PluginListAndWatchReceiver(logger klog.Logger, resource string, list *pluginapi.ListAndWatchResponse) {
	o.ManagerImpl.PluginListAndWatchReceiver(logger, resource, list)
	o.listed(resource, list)
}

func (o *ObservedManager) PluginDisconnected(logger klog.Logger, resource string) {
	o.ManagerImpl.PluginDisconnected(logger, resource)
	o.observer.Disconnected(resource)
}

// Listen reads the checkpoint, empties the directory and takes registrations.
func (o *ObservedManager) Listen(activePods ActivePodsFunc) error {
	return o.Start(klog.Background(), activePods, allSourcesReady{}, nil, nil)
}

// Close ends every stream and the registration server.
func (o *ObservedManager) Close() error {
	return o.Stop(klog.Background())
}

// RunOptions does what a container's start needs: PreStartContainer where a plugin requires it, then the options.
func (o *ObservedManager) RunOptions(pod *v1.Pod, container *v1.Container) (*DeviceRunContainerOptions, error) {
	return o.GetDeviceRunContainerOptions(context.Background(), pod, container)
}
