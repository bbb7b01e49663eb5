// What Helm makes of plughost's chart, by Helm's own code: `render CHART NAME NAMESPACE VALUES…` prints the objects as a list in JSON. Values of a
// later file win, as with `helm --values`.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type object = map[string]any

// The files of templates, NOTES.txt among them, by their names.
func rendered(loaded *chart.Chart, release chartutil.ReleaseOptions, values object) (map[string]string, error) {
	all, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for path, text := range texts {
		files[filepath.Base(path)] = text
	}
	return files, nil
}

// The objects, in the order of their files.
func objects(files map[string]string) ([]object, error) {
	names := []string{}
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	all := []object{}
	for _, name := range names {
		documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(files[name]), 4096)
		for {
			var one object
			if err := documents.Decode(&one); err == io.EOF {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if one != nil {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

func manifest(arguments []string) ([]object, error) {
	loaded, err := loader.Load(arguments[0])
	if err != nil {
		return nil, err
	}
	values := object{}
	for _, path := range arguments[3:] {
		read, err := chartutil.ReadValuesFile(path)
		if err != nil {
			return nil, err
		}
		values = chartutil.CoalesceTables(read, values)
	}
	release := chartutil.ReleaseOptions{Name: arguments[1], Namespace: arguments[2], Revision: 1, IsInstall: true}
	files, err := rendered(loaded, release, values)
	if err != nil {
		return nil, err
	}
	return objects(files)
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: render CHART NAME NAMESPACE VALUES…")
		os.Exit(2)
	}
	all, err := manifest(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
