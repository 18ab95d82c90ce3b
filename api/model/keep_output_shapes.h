#pragma once

namespace nyala {

/// While it lives, calls on shells on this thread leave LayerNode::output_shapes() as they are: a question
/// about shapes must not change what summary() shows.
class KeepOutputShapes {
 public:
  KeepOutputShapes();
  ~KeepOutputShapes();
  KeepOutputShapes(const KeepOutputShapes&) = delete;
  KeepOutputShapes& operator=(const KeepOutputShapes&) = delete;

 private:
  bool before_;
};

}  // namespace nyala
