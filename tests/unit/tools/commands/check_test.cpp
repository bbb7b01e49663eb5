// Tests `plughost check`: several files, standard input, and its result as JSON.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/system/unique_fd.hpp"
#include "base/text/json.hpp"
#include "unit/temp_dir.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;
using plughost::Json;

namespace {

struct Checked {
  TempDir dir;
  std::string good = dir.at("good.yaml").string();
  std::string bad = dir.at("bad.yaml").string();
  std::string doubtful = dir.at("doubtful.yaml").string();

  Checked() {
    dir.file("good.yaml", "resources: [{name: x.com/good, count: 1}]\n");
    dir.file("bad.yaml", "resources:\n- {name: x.com/bad, count: none}\n");
    dir.file("doubtful.yaml", "resources: [{name: x.com/p, exec: {discover: /bin/list all}}]\n");
  }
};

// Makes the file standard input while it lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& file) : former_(::dup(STDIN_FILENO)) {
    const plughost::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    ::dup2(fd.get(), STDIN_FILENO);
  }
  ~StandardInput() { ::dup2(former_.get(), STDIN_FILENO); }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  plughost::UniqueFd former_;
};

}  // namespace

TEST_CASE("check: several files are checked, each by itself, and one that is invalid fails the command") {
  const Checked files;
  const CommandResult result = run_plughost({"check", files.good, files.bad, files.doubtful});
  CHECK(result.exit_code == 1);
  CHECK(has(result.printed, files.good + ": 1 entry in 1 file, no errors\n"));
  CHECK(has(result.printed, files.doubtful + ": 1 entry in 1 file, no errors\n"));
  CHECK(has(result.errors, files.bad + ":2:28: resources[0].count: "));
  CHECK(has(result.errors, "warning: " + files.doubtful));
  CHECK_FALSE(has(result, "next:"));
  CHECK(run_plughost({"check", files.good, files.good}).exit_code == 0);
  CHECK(run_plughost({"check", files.good, files.doubtful, "--strict"}).exit_code == 1);
  CHECK(has(run_plughost({"check", "--config", files.good}).printed, files.good + ": 1 entry"));
}

TEST_CASE("check: -o json has each file's errors and warnings with their places") {
  const Checked files;
  const CommandResult result = run_plughost({"check", files.good, files.bad, files.doubtful, "-o", "json"});
  CHECK(result.exit_code == 1);
  CHECK(result.errors.empty());
  const Json answer = Json::parse(result.printed);
  const Json::Array& all = answer.array();
  REQUIRE(all.size() == 3);
  CHECK(all[0]["file"].text() == files.good);
  CHECK(all[0]["valid"].truth());
  CHECK(all[0]["entries"].number() == 1);
  CHECK(all[0]["errors"].array().empty());
  CHECK_FALSE(all[1]["valid"].truth());
  REQUIRE(all[1]["errors"].array().size() == 1);
  const Json& error = all[1]["errors"].array().front();
  CHECK(error["file"].text() == files.bad);
  CHECK(error["line"].number() == 2);
  CHECK(error["column"].number() == 28);
  CHECK(error["path"].text() == "resources[0].count");
  CHECK(has(error["message"].text(), "none"));
  CHECK(all[2]["valid"].truth());
  CHECK(all[2]["warnings"].array().size() == 1);
  const CommandResult strict = run_plughost({"check", files.doubtful, "--strict", "-o", "json"});
  CHECK_FALSE(Json::parse(strict.printed).array().front()["valid"].truth());
}

TEST_CASE("check and discover: - is standard input, whose places begin with -") {
  const Checked files;
  {
    const StandardInput input(files.good);
    const CommandResult result = run_plughost({"check", "-"});
    CHECK(result.exit_code == 0);
    CHECK(result.printed == "-: 1 entry in 1 file, no errors\n");
  }
  {
    const StandardInput input(files.bad);
    CHECK(run_plughost({"check", "-"}).errors.starts_with("-:2:28: resources[0].count: "));
  }
  {
    const StandardInput input(files.good);
    CHECK(run_plughost({"discover", "-", "-o", "name"}).printed == "x.com/good=x.com/good-0\n");
  }
  const StandardInput input(files.dir.path().string());
  CHECK(has(run_plughost({"check", "-"}).errors, "-: standard input cannot be read: Is a directory"));
}

TEST_CASE("check: a note names the entries that have one name") {
  const Checked files;
  files.dir.file("twice.yaml",
                 "resources:\n- {name: x.com/a, count: 1}\n- {name: x.com/b, count: 1}\n"
                 "- {name: x.com/a, directory: {path: /no/such}}\n");
  const std::string file = files.dir.at("twice.yaml");
  const std::string note = "note: x.com/a is the name of 2 entries (" + file + ":2:3, " + file +
                           ":4:3): their devices form one resource\n";
  CHECK(run_plughost({"check", file, "--strict"}).exit_code == 0);
  CHECK(has(run_plughost({"check", file}).errors, note));
  CHECK_FALSE(has(run_plughost({"check", files.good}).errors, "is the name of"));
}
