// For Kubernetes 1.35 and 1.36.
package devicemanager

import "k8s.io/klog/v2"

func (o *ObservedManager) PluginDisconnected(logger klog.Logger, resource string) {
	o.ManagerImpl.PluginDisconnected(logger, resource)
	o.disconnected(resource, "")
}
