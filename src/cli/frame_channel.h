#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// One end of a Unix stream socket that carries frames: 4 bytes length, little-endian, then that many bytes (JSON
/// text), at most 1 GiB. Never blocks: what cannot be sent now stays queued.
class FrameChannel {
 public:
  static constexpr std::uint64_t kMaxFrameBytes = 1ULL << 30U;

  FrameChannel() = default;
  explicit FrameChannel(FileHandle socket);

  bool is_open() const { return socket_.is_open(); }
  int descriptor() const { return socket_.get(); }
  bool wants_to_send() const { return !outgoing_.empty(); }

  /// Queues a frame. A descriptor travels with the frame's first bytes (SCM_RIGHTS) and is closed here afterwards.
  void Queue(std::string_view payload, FileHandle attached = {});

  /// Sends what the socket takes. An error means that the other end is gone.
  Status Send();

  /// Appends the complete frames that have arrived. `false`: the other end has closed. An error: no frame can follow.
  Result<bool> Receive(std::vector<std::string>& frames);

  void Close() { socket_ = FileHandle(); }

 private:
  struct Outgoing {
    std::string bytes;
    std::size_t sent = 0;
    FileHandle attached;
  };

  FileHandle socket_;
  std::deque<Outgoing> outgoing_;
  std::string incoming_;
};

}  // namespace msprobe
