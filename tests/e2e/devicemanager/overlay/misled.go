package devicemanager

import (
	"fmt"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// misled is what a test makes the manager believe of its resources. The manager's mutex guards it.
type misled struct {
	// The devices of the newest list that was taken in on each resource's newest connection, and those before it.
	newest, former map[string][]*pluginapi.Device
	swallows       map[string]bool // the next list is not taken in
	keeps          map[string]bool // nor is any, until the resource connects anew
}

func newMisled() misled {
	return misled{
		newest:   map[string][]*pluginapi.Device{},
		former:   map[string][]*pluginapi.Device{},
		swallows: map[string]bool{},
		keeps:    map[string]bool{},
	}
}

// Forget drops the resource as GetCapacity does with one whose time is over; its stream, if it has one, lives on.
func (o *ObservedManager) Forget(resource string) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, known := o.endpoints[resource]; !known {
		return fmt.Errorf("%s is not known", resource)
	}
	delete(o.endpoints, resource)
	delete(o.healthyDevices, resource)
	delete(o.unhealthyDevices, resource)
	return nil
}

// Keep puts back the devices of the list before the newest one, and takes in no other list on this connection.
func (o *ObservedManager) Keep(resource string) error {
	if _, err := o.connection(resource); err != nil {
		return err
	}
	o.mutex.Lock()
	former, found := o.misled.former[resource]
	o.misled.keeps[resource] = found
	o.mutex.Unlock()
	if !found {
		return fmt.Errorf("%s has sent one list only", resource)
	}
	o.takeIn(resource, &pluginapi.ListAndWatchResponse{Devices: former})
	return nil
}

// Swallow makes the manager read the resource's next list, and not take it in.
func (o *ObservedManager) Swallow(resource string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.misled.swallows[resource] = true
}

// receive is what becomes of a plugin's list.
func (o *ObservedManager) receive(resource string, list *pluginapi.ListAndWatchResponse) {
	if !o.taken(resource, list) {
		o.observer.Swallowed(resource, listedDevices(list))
		return
	}
	o.takeIn(resource, list)
	o.observer.Listed(resource, listedDevices(list))
}

func (o *ObservedManager) taken(resource string, list *pluginapi.ListAndWatchResponse) bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.misled.swallows[resource] {
		delete(o.misled.swallows, resource)
		return false
	}
	if o.misled.keeps[resource] {
		return false
	}
	if newest, found := o.misled.newest[resource]; found {
		o.misled.former[resource] = newest
	}
	o.misled.newest[resource] = list.Devices
	return true
}

// undeceive stands where a resource connects anew. The manager's mutex is held.
func (m *misled) undeceive(resource string) {
	delete(m.newest, resource)
	delete(m.former, resource)
	delete(m.keeps, resource)
}
