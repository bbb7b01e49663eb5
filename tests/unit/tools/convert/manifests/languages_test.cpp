#include "tools/convert/manifests/read_files.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

bool is(const std::string& language, const char* beginning) { return language.starts_with(beginning); }

TEST_CASE("a file's ending decides its language") {
  CHECK(is(other_language("a.tf", ""), "this is Terraform"));
  CHECK(is(other_language("a.nix", ""), "this is Nix"));
  CHECK(is(other_language("a.cue", ""), "this is CUE"));
  CHECK(is(other_language("a.jsonnet", ""), "this is Jsonnet"));
  CHECK(is(other_language("helmfile.yaml.gotmpl", ""), "this is a template;"));
  CHECK(is(other_language("chart.ts", ""), "this is a program;"));
  CHECK(other_language("a.yaml", "").empty());
}

TEST_CASE("a text's content decides its language") {
  CHECK(is(other_language("-", "a: 1\nb: {{ .Values.b }}\n"), "this is a template of Helm's"));
  CHECK(is(other_language("-", "{{- include \"labels\" . }}\n"), "this is a template of Helm's"));
  CHECK(is(other_language("-", "{% if a %}\nb: 1\n{% endif %}\n"), "this is a template;"));
  CHECK(is(other_language("-", "{% raw %}\na: {{ .Values.a }}\n{% endraw %}\n"), "this is a template;"));
  CHECK(is(other_language("-", "#!/bin/sh\nkubectl apply\n"), "this is a program;"));
  CHECK(is(other_language("-", "import { Chart } from 'cdk8s';\n"), "this is a program;"));
  CHECK(is(other_language("-", "resource \"helm_release\" \"a\" {\n}\n"), "this is Terraform"));
  CHECK(is(other_language("-", "{ pkgs, lib, ... }:\n{ }\n"), "this is Nix"));
  CHECK(is(other_language("-", "package plugins\n"), "this is CUE"));
  CHECK(other_language("-", "alert: '{{ $labels.node }}'\n# {{ .Values.a }}\nvalues: {a: .Values.a}\n")
            .empty());
}

}  // namespace
}  // namespace plughost
