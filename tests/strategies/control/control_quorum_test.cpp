#include <nyala/strategies/control/control_quorum.h>

#include <gtest/gtest.h>

namespace nyala::detail {
namespace {

using Bases = std::vector<ControlBase>;

ControlBase announced(uint64_t generation, std::vector<uint64_t> processes) {
  return {.generation = generation, .processes = std::move(processes)};
}
ControlBase established(uint64_t generation, std::vector<uint64_t> processes) {
  return {.generation = generation, .is_established = true, .processes = std::move(processes)};
}

TEST(ControlQuorum, AnEstablishedGenerationReplacesAllBefore) {
  EXPECT_EQ(joint_bases(Bases{established(1, {1, 2, 3}), announced(2, {1, 2}), established(3, {1, 4}),
                              announced(3, {1, 4}), announced(5, {4}), established(3, {1, 4})}),
            (Bases{established(3, {1, 4}), announced(5, {4})}));
  EXPECT_EQ(joint_bases(Bases{}), Bases{});
  Bases known;
  note_base(known, announced(1, {1, 2, 3}));
  note_base(known, established(1, {1, 2, 3}));
  note_base(known, announced(2, {2, 3}));
  EXPECT_EQ(known, (Bases{established(1, {1, 2, 3}), announced(2, {2, 3})}));
}

TEST(ControlQuorum, EachBaseNeedsAMajority) {
  const Bases three{established(1, {1, 2, 3})};
  EXPECT_FALSE(base_without_majority(three, {1, 3}));
  EXPECT_FALSE(base_without_majority(three, {2, 3, 9}));
  EXPECT_EQ(base_without_majority(three, {1, 8, 9}), three[0]);
  const Bases two{established(1, {1, 2, 3}), announced(2, {2, 3})};
  EXPECT_FALSE(base_without_majority(two, {1, 2}));  // half of generation 2, with its lowest rank
  EXPECT_EQ(base_without_majority(two, {1, 3}), two[1]);
  EXPECT_FALSE(base_without_majority(Bases{}, {}));
}

/// Of every pair of parts of one generation at most one goes on.
TEST(ControlQuorum, TwoPartsNeverBothGoOn) {
  for (uint64_t size = 1; size <= 6; ++size) {
    Bases base{established(1, {})};
    for (uint64_t process = 0; process < size; ++process) base[0].processes.push_back(process);
    for (uint64_t part = 0; part < (uint64_t{1} << size); ++part) {
      std::set<uint64_t> here, there;
      for (uint64_t process = 0; process < size; ++process)
        (part >> process & 1 ? here : there).insert(process);
      EXPECT_NE(base_without_majority(base, here).has_value(), base_without_majority(base, there).has_value())
          << size << " " << part;
    }
  }
}

}  // namespace
}  // namespace nyala::detail
