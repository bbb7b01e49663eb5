#pragma once
// Creates certificates for tests with openssl.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "host/programs/subprocess.hpp"
#include "not_shown.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

class Certificates {
 public:
  // Creates an authority with the files AUTHORITY.crt and AUTHORITY.key in `directory`, which must outlive
  // this object.
  Certificates(const TempDir& directory, std::string authority)
      : directory_(directory), authority_(std::move(authority)) {
    make({"-subj", "/CN=" + authority_, "-keyout", at(authority_ + ".key"), "-out", at(authority_ + ".crt")});
  }

  // Issues NAME.crt and NAME.key. `others` is a subject alternative name such as "IP:127.0.0.1".
  void issue(const std::string& name, const std::string& subject, const std::string& others = "") const {
    std::vector<std::string> arguments{"-subj",   subject,
                                       "-keyout", at(name + ".key"),
                                       "-out",    at(name + ".crt"),
                                       "-CA",     at(authority_ + ".crt"),
                                       "-CAkey",  at(authority_ + ".key"),
                                       "-addext", "basicConstraints=critical,CA:false"};
    if (!others.empty()) arguments.insert(arguments.end(), {"-addext", "subjectAltName=" + others});
    make(std::move(arguments));
  }

 private:
  std::string at(const std::string& name) const { return directory_.at(name); }
  static void make(std::vector<std::string> arguments) {
    std::vector<std::string> command{
        "/usr/bin/openssl", "req",   "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes",           "-days", "2"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Ending ending = run_program({.command = command, .timeout = std::chrono::minutes(1)});
    if (ending.how == Ending::How::kNotStarted) not_shown("there is no openssl");
    INFO(ending.output);
    REQUIRE(ending.how == Ending::How::kExited);
    REQUIRE(ending.number == 0);
  }

  const TempDir& directory_;
  std::string authority_;
};

}  // namespace plughost::test
