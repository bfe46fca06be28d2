#include "cli/frame_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace msprobe {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kChunkBytes = 1U << 16U;

std::uint32_t DecodeLength(std::string_view bytes) {
  std::uint32_t length = 0;
  for (unsigned i = 0; i < kHeaderBytes; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8U * i);
  }
  return length;
}

/// sendmsg(2) of some bytes, with a descriptor if it is not negative.
ssize_t SendBytes(int socket, const char* bytes, std::size_t size, int descriptor) {
  struct iovec part = {const_cast<char*>(bytes), size};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

FrameChannel::FrameChannel(FileHandle socket) : socket_(std::move(socket)) {}

void FrameChannel::Queue(std::string_view payload, FileHandle attached) {
  Outgoing frame;
  frame.bytes.reserve(kHeaderBytes + payload.size());
  for (unsigned i = 0; i < kHeaderBytes; ++i) frame.bytes += static_cast<char>(payload.size() >> (8U * i) & 0xFFU);
  frame.bytes += payload;
  frame.attached = std::move(attached);
  outgoing_.push_back(std::move(frame));
}

Status FrameChannel::Send() {
  while (!outgoing_.empty()) {
    Outgoing& frame = outgoing_.front();
    const ssize_t count = SendBytes(socket_.get(), frame.bytes.data() + frame.sent, frame.bytes.size() - frame.sent,
                                    frame.attached.get());
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
      return Error{ErrorCode::kInternal, std::string("cannot send to a worker process: ") + std::strerror(errno)};
    }
    frame.attached = FileHandle();
    frame.sent += static_cast<std::size_t>(count);
    if (frame.sent == frame.bytes.size()) outgoing_.pop_front();
  }
  return {};
}

Result<bool> FrameChannel::Receive(std::vector<std::string>& frames) {
  bool open = true;
  while (true) {
    const std::size_t old_size = incoming_.size();
    incoming_.resize(old_size + kChunkBytes);
    const ssize_t count = ::recv(socket_.get(), incoming_.data() + old_size, kChunkBytes, MSG_DONTWAIT);
    const int error = errno;
    incoming_.resize(old_size + (count > 0 ? static_cast<std::size_t>(count) : 0));
    // More than a whole frame is taken apart first, so that memory stays bounded.
    if (count > 0 && incoming_.size() > kMaxFrameBytes + kChunkBytes) break;
    if (count > 0 || (count < 0 && error == EINTR)) continue;
    // Nothing more for now, or the end; a reset connection is an end, too.
    open = count < 0 && (error == EAGAIN || error == EWOULDBLOCK);
    break;
  }
  std::size_t begin = 0;
  while (incoming_.size() - begin >= kHeaderBytes) {
    const std::uint64_t length = DecodeLength(std::string_view(incoming_).substr(begin, kHeaderBytes));
    if (length > kMaxFrameBytes) {
      return Error{ErrorCode::kInternal, "a worker process sent a frame of " + std::to_string(length) + " bytes"};
    }
    if (incoming_.size() - begin - kHeaderBytes < length) break;
    frames.push_back(incoming_.substr(begin + kHeaderBytes, length));
    begin += kHeaderBytes + length;
  }
  incoming_.erase(0, begin);
  return open;
}

}  // namespace msprobe
