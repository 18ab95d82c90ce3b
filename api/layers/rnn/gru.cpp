#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/rnn/gru.h>
#include <nyala/api/layers/rnn/gru_cell.h>

namespace nyala {

using namespace nyala::detail;

void GRUConfig::fields(FieldVisitor& v) {
  v.field("units", units);
  visit_cell(v, *this);
  v.optional("seed", seed, -1);
  visit_returned(v, *this);
  v.field("reset_after", reset_after);
  v.field("zero_output_for_mask", zero_output_for_mask);
}

namespace {

Layer cell_of(const GRUConfig& config) { return GRUCell(with_fields_of<GRUCellConfig>(config, "gru_cell")); }

class GruNode final : public RecurrentNode {
 public:
  explicit GruNode(const GRUConfig& config)
      : RecurrentNode(cell_of(config), settings_of(config)), config_(config) {}
  std::string class_name() const override { return "GRU"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Layer clone(const std::string& name, const RecurrentSettings& settings) const override {
    return GRU(with_settings(config_, *this, name, settings));
  }

 private:
  GRUConfig config_;
};

}  // namespace

GRU::GRU(const Config& config) : RecurrentLayer(node_from<GruNode>(config)) {}

GRU::GRU(int64_t units, Config config) : GRU(with(std::move(config), &Config::units, units)) {}

}  // namespace nyala
