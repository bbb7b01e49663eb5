#include "kubelet/checkpoint_reader.hpp"

#include <stdexcept>
#include <utility>

namespace plughost {
namespace {

constexpr const char* kHangs = "reading it takes too long";

}  // namespace

struct CheckpointReader::Outcome {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::string why;
};

CheckpointReader::CheckpointReader(Workers& workers, Log& log, std::filesystem::path file,
                                   std::chrono::milliseconds deadline)
    : workers_(workers), log_(log), file_(std::move(file)), deadline_(deadline) {}

void CheckpointReader::read(Clock::time_point since, Done done) {
  // One that hangs is not asked again: each time would cost its deadline.
  if (hung_) return done({.checkpoint = nullptr, .why = kHangs, .began = Clock::now()});
  if (!reading_ && last_.began >= since) return done(Reading(last_));
  if (reading_ && began_ < since) {
    next_.push_back(std::move(done));
    return;
  }
  waiting_.push_back(std::move(done));
  if (!reading_) begin();
}

void CheckpointReader::begin() {
  reading_ = true;
  began_ = Clock::now();
  const auto outcome = std::make_shared<Outcome>();
  workers_.run(
      [outcome, file = file_] {
        try {
          outcome->checkpoint = std::make_shared<const Checkpoint>(Checkpoint::read(file));
        } catch (const std::runtime_error& failure) {
          outcome->why = failure.what();
          std::error_code error;
          if (!std::filesystem::exists(file, error) && !error)
            outcome->checkpoint = std::make_shared<const Checkpoint>();
        }
      },
      lifetime_.bound([this, outcome] { on_end(*outcome); }), deadline_, lifetime_.bound([this] {
        hung_ = true;
        finish(nullptr, kHangs);
      }));
}

void CheckpointReader::on_end(const Outcome& outcome) {
  hung_ = false;
  reading_ = false;
  finish(outcome.checkpoint, outcome.why);
  if (!reading_ && !waiting_.empty()) begin();
}

void CheckpointReader::finish(std::shared_ptr<const Checkpoint> checkpoint, std::string why) {
  last_ = {.checkpoint = std::move(checkpoint), .why = std::move(why), .began = began_};
  const Reading told = last_;
  std::vector<Done> done = std::exchange(waiting_, {});
  if (hung_)
    done.insert(done.end(), std::make_move_iterator(next_.begin()), std::make_move_iterator(next_.end()));
  else
    waiting_ = std::move(next_);
  next_.clear();
  for (const Done& each : done) each(told);
  const std::string trouble = told.checkpoint ? "" : told.why;
  if (std::exchange(told_why_, trouble) != trouble && !trouble.empty())
    log_.warn(
        "the kubelet's checkpoint cannot be read: a device that a pod holds by an id of another plugin may "
        "be given to a second one",
        {{"file", file_.string()}, {"why", trouble}});
}

}  // namespace plughost
