// The command plughost convert.

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;

TEST_CASE("a file of no known plugin is refused with the list of known ones") {
  const TempDir dir;
  dir.file("theirs", "service: web\n");
  const CommandResult refused = run_plughost({"convert", dir.at("theirs").string()});
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, dir.at("theirs").string() + ":1:1: "));
  CHECK(has(refused.output, "k8s-rdma-shared-dev-plugin"));
  CHECK(run_plughost({"convert", dir.at("absent").string()}).exit_code == 1);
  CHECK(run_plughost({"convert"}).exit_code == 2);
}

TEST_CASE("convert refuses a file if `plughost check` would refuse the result, and prints the reason") {
  const TempDir dir;
  dir.file("theirs", "domain: a_b\ndevices: [{name: a, groups: [{paths: [{path: /dev/full}]}]}]\n");
  const CommandResult refused = run_plughost({"convert", dir.at("theirs").string()});
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.errors, "what it becomes:"));
  CHECK(has(refused.errors, "'a_b' is not a valid domain"));
  CHECK(has(refused.errors, "plughost would refuse the converted configuration"));
}

TEST_CASE("a Helm template is refused with the command that renders it") {
  const TempDir dir;
  dir.file("daemonset.yaml", "spec:\n{{- with .Values.devices }}\n- {{ . }}\n{{- end }}\n");
  const CommandResult refused = run_plughost({"convert", dir.at("daemonset.yaml").string()});
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, "`helm get manifest RELEASE | plughost convert -`"));
}

TEST_CASE("a Helm template that is valid YAML is called a template, and Terraform is called Terraform") {
  const TempDir dir;
  dir.file("a.yaml", "kind: DaemonSet\napiVersion: apps/v1\nspec: {name: \"{{ .Values.name }}\"}\n");
  const CommandResult yaml = run_plughost({"convert", dir.at("a.yaml").string()});
  CHECK(yaml.exit_code == 1);
  CHECK(yaml.output == dir.at("a.yaml").string() +
                           ": this is a template of Helm's; `helm get manifest RELEASE | plughost "
                           "convert -` has what it became, and `helm template CHART -f VALUES | "
                           "plughost convert -` what it becomes\n");
  dir.file("gpu.tf", "resource \"helm_release\" \"gpu\" {\n  chart = \"nvidia-device-plugin\"\n}\n");
  const CommandResult terraform = run_plughost({"convert", dir.at("gpu.tf").string()});
  CHECK(terraform.exit_code == 1);
  CHECK(has(terraform.output, "gpu.tf: this is Terraform; "));
}

TEST_CASE("each file of a directory is reported as a configuration, as none, or as unreadable") {
  const TempDir dir;
  dir.directory("apps/serial/.git");
  dir.directory("apps/charts");
  dir.file("apps/serial/config.yaml",
           "domain: a.example\ndevices: [{name: full, groups: [{paths: [{path: /dev/full}]}]}]\n");
  dir.file("apps/serial/.git/old.yaml", "domain: b.example\ndevices: []\n");
  dir.file("apps/service.yml", "kind: Service\napiVersion: v1\n");
  dir.file("apps/charts/daemonset.yaml", "spec:\n{{- with .Values.devices }}\n- {{ . }}\n{{- end }}\n");
  const CommandResult finished = run_plughost({"convert", dir.at("apps").string()});
  CHECK(finished.exit_code == 0);
  const std::string apps = dir.at("apps").string();
  CHECK(has(finished.output, apps + "/serial/config.yaml: a configuration\n"));
  CHECK(has(finished.output, apps + ": not read, and without a word of a device plugin: 1 file\n"));
  CHECK(has(finished.output,
            apps + ": 2 files read; files without a configuration: 1 (" + apps + "/service.yml)\n"));
  CHECK(has(finished.output, "domain: a.example\n"));
  CHECK_FALSE(has(finished.output, "b.example"));

  // A file's name is not trusted: its control characters are escaped.
  dir.file("apps/a\x1b[2J\nb.yaml", "kind: Service\n");
  CHECK(has(run_plughost({"convert", apps}).output, "(" + apps + "/a\\x1B[2J\\x0Ab.yaml, "));

  // This unreadable file names a device plugin, which the result may lack.
  dir.file("apps/charts/daemonset.yaml", "image: generic-device-plugin\n{{- end }}\n");
  const CommandResult incomplete = run_plughost({"convert", apps});
  CHECK(incomplete.exit_code == 3);
  CHECK(has(incomplete.output, apps + "/charts/daemonset.yaml: not read: "));
  dir.directory("none");
  const CommandResult none = run_plughost({"convert", dir.at("none").string()});
  CHECK(none.exit_code == 1);
  CHECK(has(none.output, "no file *.yaml, *.yml or *.json in this directory can be read"));
}

TEST_CASE("with --explain the origin of each resource and the fate of each key replace the YAML") {
  const TempDir dir;
  dir.file("theirs",
           "domain: a.example\ndevices:\n- {name: a, colour: red, groups: [{paths: [{path: /dev/null}]}]}\n");
  const std::string file = dir.at("theirs").string();
  const CommandResult explained = run_plughost({"convert", "--explain", file});
  CHECK(explained.exit_code == 3);
  CHECK(has(explained.output, "a.example/a: from " + file + ":3:3: devices[0]\n"));
  CHECK(has(explained.output, file + ":3:21: devices[0].colour: left out\n"));
  CHECK(has(explained.output, "devices[0].groups[0].paths[0].path: read for a\n"));
  CHECK_FALSE(has(explained.output, "resources:"));
  CHECK_FALSE(has(explained.output, "next: "));
}

TEST_CASE("lost parts are listed on standard error and lead to exit code 3, and the rest is printed") {
  const TempDir dir;
  dir.file("theirs",
           "devices:\n- {name: a, colour: red, groups: [{paths: [{path: /dev/null}]}]}\n"
           "- {name: b, groups: [{paths: [{path: /dev/zero}]}]}\n");
  const std::string file = dir.at("theirs").string();
  const CommandResult result = run_plughost({"convert", file});
  CHECK(result.exit_code == 3);
  CHECK(has(result.errors, file + ": not kept: a: 'colour': plughost has nothing of that name; left out.\n"));
  CHECK(has(result.errors, file + ": not certain: The domain is a guess"));
  CHECK(has(result.printed, "- name: b\n"));
}

TEST_CASE("if nothing can be converted, the exit code and the text say so") {
  const TempDir dir;
  dir.file("theirs", R"({"resourceList": [{"resourceName": "a", "selectors": [{"drivers": ["iavf"]}]}]})");
  const CommandResult finished = run_plughost({"convert", dir.at("theirs").string()});
  CHECK(finished.exit_code == 1);
  CHECK(has(finished.output, "nothing of it can be converted"));
  CHECK(has(finished.output, "# intel.com/a cannot be kept."));
}

TEST_CASE("if no item of KubeVirt can be converted, standard error has the reason for each") {
  const TempDir dir;
  dir.file("theirs",
           "permittedHostDevices:\n  usb:\n  - resourceName: a.example/b\n"
           "    selectors: [{vendor: \"096e\", product: \"0006\"}]\n"
           "  mediatedDevices:\n  - {mdevNameSelector: GRID T4-4Q, resourceName: a.example/c}\n");
  const std::string file = dir.at("theirs").string();
  const CommandResult result = run_plughost({"convert", file});
  CHECK(result.exit_code == 1);
  CHECK(has(result.errors, file + ": not kept: a.example/b is left out: KubeVirt tells a virtual machine"));
  CHECK(has(result.errors, file + ": not kept: a.example/c ('GRID T4-4Q') is left out: mediated devices"));
  CHECK(has(result.errors, file + ": nothing of it can be converted"));
}

TEST_CASE("a configuration without devices is reported as having no resource") {
  const TempDir dir;
  dir.file("theirs", R"({"resourceList": []})");
  const CommandResult finished = run_plughost({"convert", dir.at("theirs").string()});
  CHECK(finished.exit_code == 1);
  CHECK(has(finished.output, ": it has no resource"));
  CHECK_FALSE(has(finished.output, "nothing of it can be converted"));
}
