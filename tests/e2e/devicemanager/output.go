package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

// output writes answers and events, one JSON object to a line. Thread-safe.
type output struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func newOutput(writer io.Writer) *output {
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	return &output{encoder: encoder}
}

type stamp struct {
	Time time.Time `json:"time"`
}

func now() stamp { return stamp{time.Now().UTC()} }

func (o *output) answer(command string, line int, result any, err error) {
	text := ""
	if err != nil {
		text = err.Error()
		result = nil
	}
	o.write(struct {
		Answer string `json:"answer"`
		Line   int    `json:"line"`
		stamp
		Result any    `json:"result,omitempty"`
		Error  string `json:"error,omitempty"`
	}{command, line, now(), result, text})
}

func (o *output) log(object string) {
	o.write(struct {
		Event string `json:"event"`
		stamp
		Log json.RawMessage `json:"log"`
	}{"log", now(), json.RawMessage(object)})
}

func (o *output) write(object any) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	// Nobody reads any more: a kubelet that outlives its test would only confuse the next one.
	if err := o.encoder.Encode(object); err != nil {
		fail(err)
	}
}

// incarnation reports what happens to one kubelet, the n-th of this process. Thread-safe.
type incarnation struct {
	out    *output
	number int
}

type happening struct {
	Event string `json:"event"`
	stamp
	Kubelet  int    `json:"kubelet"`
	Resource string `json:"resource,omitempty"`
}

func (i incarnation) happening(event, resource string) happening {
	return happening{event, now(), i.number, resource}
}

func (i incarnation) Connected(resource, socket string, options *pluginapi.DevicePluginOptions) {
	i.out.write(struct {
		happening
		Socket                 string `json:"socket"`
		PreStart               bool   `json:"preStart"`
		GetPreferredAllocation bool   `json:"getPreferredAllocation"`
	}{i.happening("connected", resource), socket, options.GetPreStartRequired(), options.GetGetPreferredAllocationAvailable()})
}

func (i incarnation) Listed(resource string, devices []devicemanager.ListedDevice) {
	i.list("listed", resource, devices)
}

func (i incarnation) Swallowed(resource string, devices []devicemanager.ListedDevice) {
	i.list("swallowed", resource, devices)
}

func (i incarnation) list(event, resource string, devices []devicemanager.ListedDevice) {
	i.out.write(struct {
		happening
		Devices []devicemanager.ListedDevice `json:"devices"`
	}{i.happening(event, resource), devices})
}

func (i incarnation) Disconnected(resource string, left int) {
	i.out.write(struct {
		happening
		Left int `json:"left,omitempty"`
	}{i.happening("disconnected", resource), left})
}

func (i incarnation) Ending(resource string) {
	i.out.write(i.happening("ending", resource))
}

func (i incarnation) Doubling(resource string) {
	i.out.write(i.happening("doubling", resource))
}

func (i incarnation) stopping() {
	i.out.write(i.happening("stopping", ""))
}

func (i incarnation) started(socket string) {
	i.out.write(struct {
		happening
		Socket string `json:"socket"`
	}{i.happening("started", ""), socket})
}

func (i incarnation) stopped() {
	i.out.write(i.happening("stopped", ""))
}
