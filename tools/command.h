#pragma once

#include <string>
#include <vector>

#include <nyala/nyala.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

/// Adds a subcommand with its options; what it does runs when it was chosen. One file each, one line below.
void add_predict(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_fit(CLI::App& app);
void add_summary(CLI::App& app);
void add_convert(CLI::App& app);
void add_new(CLI::App& app);
void add_info(CLI::App& app);
void add_launch(CLI::App& app);
void add_serve(CLI::App& app);

/// `value` of `name=value`, where `name` is one of `names`; the name is empty where there is none. A '=' in
/// the path of a file is part of the path. Throws InvalidArgumentError where there is neither such a name nor
/// a file.
struct NamedPath {
  std::string name;
  std::string path;
};
NamedPath named_path(const std::string& argument, const std::vector<std::string>& names);

/// Arrays from .npy files by name ("vec=v.npy"); those without a name take the places that are left, in the
/// order of `names`. Throws InvalidArgumentError where their number differs, `what` says of what.
Tensors load_arrays(const std::vector<std::string>& arguments, const std::vector<std::string>& names,
                    const std::string& what);

/// Runs f, which works with the arrays of these lists of arguments: its errors name them.
template <class F>
decltype(auto) naming_arrays(const std::vector<std::vector<std::string>>& lists, F&& f) {
  try {
    return f();
  } catch (const Error&) {
    std::vector<std::string> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    detail::rethrow_with_prefix("with " + detail::quoted_list(all) + ": ");
  }
}

/// The names of a model's inputs; "x", "x1" where it has none.
std::vector<std::string> input_names(const Model& model);
/// The names of its outputs (of `count`, where it does not know how many). Several outputs of one layer are
/// "attention", "attention_1".
std::vector<std::string> output_names(const Model& model, size_t count = 1);

/// Adds --dtype-policy: the DTypePolicy that all layers of the model take, instead of the file's.
void add_dtype_policy_option(CLI::App& command, std::string& policy);

/// Before long work: throws InvalidArgumentError unless the path of a file to write ends with one of `ends`,
/// IoError where it cannot be written: an empty temporary file is made beside it, and removed.
void check_output(const std::string& path, const std::vector<std::string>& ends);

/// The same for a model, or its weights alone: .keras, .h5 or .hdf5; .weights.h5, .safetensors or .npz.
void check_model_output(const std::string& path);
void write_model(const Model& model, const std::string& path);

/// Before anything is read: throws InvalidArgumentError, which names `option`, where the file at `output`
/// exists and is one that an argument of `read` (a path, or name=path) leads to, by whatever links.
void check_reads_another(const std::string& option, const std::string& output,
                         const std::vector<std::vector<std::string>>& read);

/// Text as the only line, or on a terminal as progress; never to standard output.
bool on_terminal();

/// Thrown to end the program with a status, after everything that was to be said.
struct ExitStatus {
  int status;
};

}  // namespace nyala::tools
