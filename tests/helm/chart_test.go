package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const (
	repository = "../.."
	folder     = repository + "/packaging/helm/plughost"
	presets    = "/usr/share/plughost/plugins.d"
)

var release = chartutil.ReleaseOptions{Name: "plughost", Namespace: "plughost", Revision: 1, IsInstall: true}

// The program, which says of each configuration whether it is one.
func plughost(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PLUGHOST")
	if path == "" {
		t.Fatal("PLUGHOST names the program; tests/helm/run sets it")
	}
	return path
}

func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	var words bytes.Buffer
	command.Stderr = &words
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(arguments, " "), err, text, words.String())
	}
	return string(text)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parsed[T any](t *testing.T, text []byte) T {
	t.Helper()
	var value T
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return value
}

func theChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// The objects by their kinds, of which each has one.
func made(t *testing.T, values object) map[string]object {
	t.Helper()
	files, err := rendered(theChart(t), release, values)
	if err != nil {
		t.Fatal(err)
	}
	all, err := objects(files)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]object{}
	for _, one := range all {
		kinds[one["kind"].(string)] = one
	}
	if len(kinds) != len(all) {
		t.Fatal("two objects of one kind")
	}
	return kinds
}

func configuration(t *testing.T, kinds map[string]object) string {
	t.Helper()
	return kinds["ConfigMap"]["data"].(object)["config.yaml"].(string)
}

// What plughost makes of the text; ready-made entries are those of the tree.
func check(t *testing.T, text string) {
	t.Helper()
	tree, err := filepath.Abs(repository + "/plugins.d")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, presets, tree)), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, plughost(t), "check", path)
}

// Calls with the name and the values of each file of a folder.
func each(t *testing.T, pattern string, test func(t *testing.T, path string, values object)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file is %s: %v", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			values, err := chartutil.ReadValuesFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, path, values)
		})
	}
}

func TestLintHasNothingToSay(t *testing.T) {
	each(t, "values/*.yaml", func(t *testing.T, _ string, values object) {
		linted := lint.AllWithKubeVersion(folder, values, release.Namespace, &chartutil.DefaultCapabilities.KubeVersion)
		for _, message := range linted.Messages {
			if message.Severity > support.InfoSev {
				t.Error(message)
			}
		}
	})
}

func TestPlughostTakesEachConfiguration(t *testing.T) {
	each(t, "values/*.yaml", func(t *testing.T, _ string, values object) {
		check(t, configuration(t, made(t, values)))
	})
}

func TestPlughostTakesWhatTheReadmeShows(t *testing.T) {
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(read(t, folder+"/README.md"), -1)
	if len(blocks) != 2 {
		t.Fatalf("it shows %d", len(blocks))
	}
	for _, block := range blocks {
		check(t, configuration(t, made(t, parsed[object](t, block[1]))))
	}
}

func TestWhatIsWrongIsRefusedWithASentence(t *testing.T) {
	each(t, "refused/*.yaml", func(t *testing.T, path string, values object) {
		first, _, _ := strings.Cut(string(read(t, path)), "\n")
		words := strings.TrimPrefix(first, "# ")
		_, err := rendered(theChart(t), release, values)
		if err == nil {
			t.Fatalf("it was taken; expected: %s", words)
		}
		if !strings.Contains(err.Error(), words) {
			t.Fatalf("expected: %s\nsaid:     %v", words, err)
		}
	})
}

// What an object says beyond its names, labels and image.
func essence(one object) object {
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case object:
			delete(value, "labels")
			delete(value, "matchLabels")
			for key, each := range value {
				if key == "image" {
					value[key] = regexp.MustCompile(`:[^:/]*$`).ReplaceAllString(each.(string), "")
				}
				walk(each)
			}
		case []any:
			for _, each := range value {
				walk(each)
			}
		}
	}
	walk(one)
	return one
}

func TestByDefaultItIsTheDaemonSetOfTheManifest(t *testing.T) {
	kinds := made(t, parsed[object](t, read(t, "values/daemonset.yaml")))
	byDefault := made(t, object{})["DaemonSet"]
	for _, text := range strings.Split(string(read(t, repository+"/packaging/kubernetes/daemonset.yaml")), "\n---\n") {
		theirs := parsed[object](t, []byte(text))
		switch kind := theirs["kind"].(string); kind {
		case "DaemonSet":
			if want := essence(theirs); !reflect.DeepEqual(essence(byDefault), want) || !reflect.DeepEqual(essence(kinds[kind]), want) {
				ours, _ := yaml.Marshal(byDefault)
				others, _ := yaml.Marshal(want)
				t.Errorf("the chart has\n%s\nand the manifest\n%s", ours, others)
			}
		case "ConfigMap":
			ours := parsed[object](t, []byte(configuration(t, kinds)))
			if want := parsed[object](t, []byte(configuration(t, map[string]object{kind: theirs}))); !reflect.DeepEqual(ours, want) {
				t.Errorf("the chart has %v, and the manifest %v", ours, want)
			}
		case "Namespace": // Helm's affair
		default:
			t.Errorf("the chart has no %s", kind)
		}
	}
	if len(kinds) != 2 {
		t.Errorf("the chart has %d kinds of objects", len(kinds))
	}
}

func TestDevicesBecomeWhatConvertMakesOfThem(t *testing.T) {
	refused := map[string]string{ // and taken, or mended with a comment, by convert
		"configurations/common-node-first":           "put the path first",
		"configurations/keys-in-another-case":        "not allowed",
		"configurations/no-domain":                   "domain: it goes before",
		"configurations/no-own-path":                 "put the path first",
		"configurations/paths-beside-usb":            "it has paths and usb",
		"configurations/usb-numbers":                 "is a number here",
		"configurations/usb-vendor-alone":            "it has no vendor, or no product",
		"generic-device-plugin/common-path-first":    "put the path first",
		"generic-device-plugin/devices":              "additional properties 'priority' not allowed",
		"generic-device-plugin/keys-in-another-case": "not allowed",
		"generic-device-plugin/nothing-said":         "it has no vendor, or no product",
		"generic-device-plugin/paths-beside-usb":     "it has paths and usb",
		"generic-device-plugin/two-of-one-name":      "is there twice",
		"generic-device-plugin/usb-unknown-key":      "not allowed",
		"generic-device-plugin/vendor-alone":         "it has no vendor, or no product",
	}
	compared, met := 0, map[string]bool{}
	for _, pattern := range []string{"e2e/conformance/configurations/*.yaml", "convert/generic-device-plugin/*.in", "helm/values/devices*.yaml"} {
		paths, _ := filepath.Glob("../" + pattern)
		for _, path := range paths {
			name := filepath.Base(filepath.Dir(path)) + "/" + strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".in"), ".yaml")
			t.Run(name, func(t *testing.T) {
				text := read(t, path)
				var theirs object
				if yaml.Unmarshal(text, &theirs) != nil || (theirs["devices"] == nil && theirs["Devices"] == nil) {
					t.Skip("it is a manifest, or has another form")
				}
				values := object{"devices": theirs["devices"]}
				if theirs["devices"] == nil {
					values["devices"] = theirs["Devices"]
				}
				if theirs["domain"] != nil {
					values["domain"] = theirs["domain"]
				}
				_, err := rendered(theChart(t), release, values)
				if words, is := refused[name]; is {
					met[name] = true
					if err == nil || !strings.Contains(err.Error(), words) {
						t.Fatalf("expected: %s\nsaid:     %v", words, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				ours := parsed[object](t, []byte(configuration(t, made(t, values))))
				copied := filepath.Join(t.TempDir(), "theirs.yaml")
				delete(values, "config") // of the chart alone
				theirText, _ := yaml.Marshal(values)
				if err := os.WriteFile(copied, theirText, 0o600); err != nil {
					t.Fatal(err)
				}
				converted := parsed[object](t, []byte(output(t, plughost(t), "convert", copied)))
				for _, one := range converted["resources"].([]any) {
					entry := one.(object)
					if name := entry["name"].(string); !strings.Contains(name, "/") {
						entry["name"] = converted["domain"].(string) + "/" + name
					}
				}
				if !reflect.DeepEqual(ours["resources"], converted["resources"]) {
					chart, _ := json.Marshal(ours["resources"])
					convert, _ := json.Marshal(converted["resources"])
					t.Fatalf("the chart has\n%s\nand convert\n%s", chart, convert)
				}
				compared++
			})
		}
	}
	if compared < 30 {
		t.Errorf("only %d configurations were compared", compared)
	}
	for name := range refused {
		if !met[name] {
			t.Errorf("%s was expected to be refused, and is not there", name)
		}
	}
}

func TestAConfigurationMayHaveEachKeyThatPlughostKnows(t *testing.T) {
	schema := parsed[object](t, read(t, folder+"/values.schema.json"))
	config := schema["properties"].(object)["config"].(object)["properties"].(object)
	names := func(value object) []string {
		all := []string{}
		for name := range value {
			all = append(all, name)
		}
		sort.Strings(all)
		return all
	}
	example := parsed[object](t, read(t, repository+"/config.example.yaml"))
	example["devices"] = nil // its other word for resources
	if !reflect.DeepEqual(names(config), names(example)) {
		t.Errorf("the schema has %v, and config.example.yaml %v", names(config), names(example))
	}
}

func TestEachValueHasASchemaAndADefault(t *testing.T) {
	var walk func(where string, schema, values object)
	walk = func(where string, schema, values object) {
		properties := schema["properties"].(object)
		for name, one := range properties {
			property := one.(object)
			if property["description"] == nil {
				t.Errorf("%s%s has no description", where, name)
			}
			value, is := values[name]
			if !is && where+name != "global" && where+name != "enabled" {
				t.Errorf("%s%s has no default in values.yaml", where, name)
			}
			if inner, is := value.(object); is && property["type"] == "object" && property["properties"] != nil {
				walk(where+name+".", property, inner)
			}
		}
		for name := range values {
			if properties[name] == nil {
				t.Errorf("%s%s is not in the schema", where, name)
			}
		}
	}
	walk("", parsed[object](t, read(t, folder+"/values.schema.json")), parsed[object](t, read(t, folder+"/values.yaml")))
}

func TestATextStaysAsItIsAndGetsWhatItDoesNotSay(t *testing.T) {
	for _, row := range []struct {
		text, want string
		metrics    bool
	}{
		{"# why\nresources: []\n", "# why\nresources: []\nwatch: true\n", false},
		{"resources: []", "resources: []\nwatch: true\n", false},
		{"watch: false\nresources: []\n", "watch: false\nresources: []\n", false},
		{"resources: []\n", "resources: []\nwatch: true\nlisten: \"0.0.0.0:9464\"\n", true},
		{"watch: {confirm: 5m}\n", "watch: {confirm: 5m}\nlisten: \"0.0.0.0:9464\"\n", true},
		{"listen: 127.0.0.1:9464\n", "listen: 127.0.0.1:9464\nwatch: true\n", false},
	} {
		values := object{"config": row.text, "metrics": object{"enabled": row.metrics}}
		if got := configuration(t, made(t, values)); got != row.want {
			t.Errorf("%q became %q", row.text, got)
		}
	}
}

func TestAStructureGetsWhatItDoesNotSay(t *testing.T) {
	for _, row := range []struct{ values, want string }{
		{`{}`, `{"include": [], "resources": [], "watch": true}`},
		{`{config: " "}`, `{"include": [], "resources": [], "watch": true}`},
		{`{config: {watch: false}}`, `{"include": [], "resources": [], "watch": false}`},
		{`{presets: [fuse, kvm]}`,
			`{"include": ["/usr/share/plughost/plugins.d/fuse.yaml", "/usr/share/plughost/plugins.d/kvm.yaml"], "resources": [], "watch": true}`},
		{`{presets: [fuse], config: {include: [/etc/site.yaml]}}`,
			`{"include": ["/usr/share/plughost/plugins.d/fuse.yaml", "/etc/site.yaml"], "resources": [], "watch": true}`},
		{`{config: {devices: [{name: a.example/b, count: 2}]}, domain: c.example, devices: [{name: "d{}", groups: [{paths: [{path: /dev/d}]}]}]}`,
			`{"include": [], "resources": [{"name": "a.example/b", "count": 2}, {"name": "c.example/d{{}}", "groups": [{"paths": [{"path": "/dev/d", "permissions": "mrw"}]}]}], "watch": true}`},
		{`{metrics: {enabled: true, address: "::", port: 80}}`, `{"include": [], "listen": "[::]:80", "resources": [], "watch": true}`},
		{`{config: {resources: [{name: a.example/b, count: 1000000}]}}`,
			`{"include": [], "resources": [{"name": "a.example/b", "count": 1000000}], "watch": true}`},
	} {
		text := configuration(t, made(t, parsed[object](t, []byte(row.values))))
		if !reflect.DeepEqual(parsed[object](t, []byte(text)), parsed[object](t, []byte(row.want))) {
			t.Errorf("%s became\n%s", row.values, text)
		}
		if strings.Contains(text, "e+") {
			t.Errorf("%s became a number that is none to plughost:\n%s", row.values, text)
		}
	}
}

func volumes(t *testing.T, kinds map[string]object) map[string]string {
	t.Helper()
	spec := kinds["DaemonSet"]["spec"].(object)["template"].(object)["spec"].(object)
	paths := map[string]string{}
	for _, one := range spec["volumes"].([]any) {
		if host, is := one.(object)["hostPath"].(object); is {
			paths[one.(object)["name"].(string)] = host["path"].(string)
		}
	}
	return paths
}

func TestAKubeletElsewhereIsMountedWherePlughostLooks(t *testing.T) {
	for path, want := range map[string][2]string{
		"values/k0s.yaml":      {"/var/lib/kubelet/device-plugins", "/var/lib/k0s/kubelet/pod-resources"},
		"values/microk8s.yaml": {"/var/snap/microk8s/common/var/lib/kubelet/device-plugins", "/var/snap/microk8s/common/var/lib/kubelet/pod-resources"},
	} {
		found := volumes(t, made(t, parsed[object](t, read(t, path))))
		if found["device-plugins"] != want[0] || found["pod-resources"] != want[1] {
			t.Errorf("%s: %v", path, found)
		}
	}
}

func TestTwoReleasesShareNeitherNamesNorState(t *testing.T) {
	names := map[string]bool{}
	for _, name := range []string{"plughost", "other"} {
		files, err := rendered(theChart(t), chartutil.ReleaseOptions{Name: name, Namespace: "plughost"}, object{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := objects(files)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]object{all[0]["kind"].(string): all[0], all[1]["kind"].(string): all[1]}
		selector, _ := json.Marshal(kinds["DaemonSet"]["spec"].(object)["selector"])
		for _, one := range []string{kinds["DaemonSet"]["metadata"].(object)["name"].(string), volumes(t, kinds)["state"], string(selector)} {
			if names[one] {
				t.Errorf("both have %s", one)
			}
			names[one] = true
		}
	}
}

func assumed(dialect string) string {
	return "resources: [{name: x.example/a, gpu: {unit: {memory: 1GiB}}, assume: {dialect: " + dialect + "}}]\n"
}

func TestTheKubeletsAPIOfPodsIsMountedWherePlughostLooks(t *testing.T) {
	kinds := made(t, object{"kubeletDir": "/var/lib/k0s/kubelet/"})
	if path := volumes(t, kinds)["pods-api"]; path != "/var/lib/k0s/kubelet/pods-api" {
		t.Errorf("it sees %q", path)
	}
	text, _ := json.Marshal(kinds["DaemonSet"])
	if !strings.Contains(string(text), `"mountPath":"/var/lib/kubelet/pods-api"`) {
		t.Errorf("%s", text)
	}
}

func TestTwoPodsHaveRoomOnANodeWithMetrics(t *testing.T) {
	kinds := made(t, object{"metrics": object{
		"enabled": true, "port": 1234,
		"podMonitor":     object{"enabled": true, "relabelings": []any{object{"targetLabel": "rack", "replacement": "r1"}}},
		"serviceMonitor": object{"enabled": true},
	}})
	if text, _ := json.Marshal(kinds["DaemonSet"]); strings.Contains(string(text), "containerPort") {
		t.Errorf("with a port there is no room for a second pod: %s", text)
	}
	service := kinds["Service"]["spec"].(object)["ports"].([]any)[0].(object)
	if service["targetPort"] != 1234.0 || service["name"] != "metrics" {
		t.Errorf("the Service has %v", service)
	}
	endpoint := kinds["PodMonitor"]["spec"].(object)["podMetricsEndpoints"].([]any)[0].(object)
	address := func(pod string) string {
		found := ""
		for _, each := range endpoint["relabelings"].([]any) {
			rule := each.(object)
			if rule["targetLabel"] != "__address__" {
				continue
			}
			// As Prometheus has it: the whole value must match.
			whole := regexp.MustCompile("^(?:" + rule["regex"].(string) + ")$")
			if whole.MatchString(pod) {
				found = whole.ReplaceAllString(pod, rule["replacement"].(string))
			}
		}
		return found
	}
	if v4, v6 := address("192.0.2.7"), address("2001:db8::7"); v4 != "192.0.2.7:1234" || v6 != "[2001:db8::7]:1234" {
		t.Errorf("Prometheus asks %s and %s", v4, v6)
	}
	rules := endpoint["relabelings"].([]any)
	if last := rules[len(rules)-1].(object); last["targetLabel"] != "rack" || endpoint["port"] != nil {
		t.Errorf("the endpoint is %v", endpoint)
	}
}

func TestAnAccountHasTheRightsThatTheConfigurationNeedsAndNoOthers(t *testing.T) {
	const counts = "resources: [{name: x.example/a, gpu: {unit: {memory: 1GiB}}, nodeResources: {x.example/n: '{cards}'}}]\n"
	const labelled = "resources: [{name: x.example/a, count: 1, when: {label: {rack: a}}}]\n"
	for config, want := range map[string]string{
		"apiServer: {}\nresources: []\n":                              "",
		"apiServer: {}\nresources: [{name: x.example/a, count: 1}]\n": "",
		"apiServer: {}\n" + counts:                                    "list,watch nodes; patch nodes/status",
		"apiServer: {}\nevents: true\nresources: []\n":                "create events; list pods",
		"apiServer: {}\n" + labelled:                                  "list,watch nodes",
		"apiServer: {}\ninclude: [{file: '*.yaml', when: [{arch: amd64}, {not: {node: a}}]}]\nresources: []\n": "list,watch nodes",
		"apiServer: {}\n" + assumed("doslab"):                 "list,watch pods; patch pods/status",
		"apiServer: {}\n" + assumed("gpushare"):               "list,watch nodes; list,watch pods; patch pods/status",
		"apiServer: {}\nnodeLabels: /etc/labels\n" + labelled: "",
	} {
		t.Run(want, func(t *testing.T) {
			kinds := made(t, object{"config": config})
			var rules []string
			if all, is := kinds["ClusterRole"]["rules"].([]any); is {
				for _, each := range all {
					words := func(key string) string {
						var list []string
						for _, word := range each.(object)[key].([]any) {
							list = append(list, word.(string))
						}
						return strings.Join(list, ",")
					}
					rule := words("verbs") + " " + words("resources")
					if group := words("apiGroups"); group != "" {
						rule += " of " + group
					}
					rules = append(rules, rule)
				}
			}
			if got := strings.Join(rules, "; "); got != want {
				t.Errorf("the account may %q, and needs %q", got, want)
			}
			pod := kinds["DaemonSet"]["spec"].(object)["template"].(object)["spec"].(object)
			if pod["serviceAccountName"] != "plughost" || pod["automountServiceAccountToken"] != true {
				t.Errorf("the pod has another account: %v", pod)
			}
			if kinds["ServiceAccount"] == nil || kinds["ClusterRoleBinding"] == nil {
				t.Error("nothing gives the account its rights")
			}
		})
	}
	for _, config := range []string{"resources: []\n", "apiServer: {kubeconfig: /etc/plughost/kubeconfig}\nresources: []\n"} {
		if kinds := made(t, object{"config": config}); kinds["ServiceAccount"] != nil || kinds["ClusterRole"] != nil {
			t.Errorf("an account that nobody needs: %s", config)
		}
	}
}

func TestThePodIsTheSameWhateverIsOffered(t *testing.T) {
	one, _ := json.Marshal(made(t, object{"presets": []any{"fuse"}})["DaemonSet"])
	other, _ := json.Marshal(made(t, object{"presets": []any{"kvm"}})["DaemonSet"])
	if !bytes.Equal(one, other) {
		t.Error("a change of the configuration would restart plughost, which follows it")
	}
}

func TestThePackedChartHasTheVersionAndTheSameBytesEachTime(t *testing.T) {
	packed := [][]byte{}
	for range 2 {
		into := t.TempDir()
		t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
		output(t, repository+"/packaging/chart", "1.2.3", into)
		path := filepath.Join(into, "plughost-1.2.3.tgz")
		loaded, err := loader.LoadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Metadata.Version != "1.2.3" || loaded.Metadata.AppVersion != "1.2.3" {
			t.Errorf("it is %s of %s", loaded.Metadata.Version, loaded.Metadata.AppVersion)
		}
		if len(loaded.Templates) != len(theChart(t).Templates) || len(loaded.Schema) == 0 {
			t.Error("something was left behind")
		}
		files, err := rendered(loaded, release, object{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(files["daemonset.yaml"], `"registry.example.com/plughost:1.2.3"`) {
			t.Errorf("the image is another one:\n%s", files["daemonset.yaml"])
		}
		packed = append(packed, read(t, path))
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("other bytes")
	}
	if _, err := os.Stat(folder + "/Chart.lock"); !errors.Is(err, os.ErrNotExist) {
		t.Error("packing left something in the tree")
	}
}
