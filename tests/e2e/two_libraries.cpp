/* Two libraries in one process, opened as plugins are: each keeps to its own weights, errors and threads, whichever was opened first.
 * Usage: two_libraries LIB OFFSET LIB OFFSET REPEATS. Each LIB computes sum = x + y + weights, weights = OFFSET + 0, 1, 2, 3, 4, 5. */
#include <nautilus/abi.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void require(bool condition, const std::string &what) {
  if (!condition)
    throw std::runtime_error(what);
}

/* The functions of one library. */
class Library {
 public:
  Library(const char *path, int flags) : handle_(dlopen(path, RTLD_NOW | flags), &dlclose) {
    require(handle_ != nullptr, handle_ ? "" : dlerror());
    find(model_create, "nautilus_model_create");
    find(model_destroy, "nautilus_model_destroy");
    find(model_describe, "nautilus_model_describe");
    find(input, "nautilus_input");
    find(output, "nautilus_output");
    find(context_create, "nautilus_context_create");
    find(context_destroy, "nautilus_context_destroy");
    find(run_host, "nautilus_run_host");
    find(last_error, "nautilus_last_error");
  }

  void check(nautilus_status status) const { require(status == NAUTILUS_OK, last_error()); }

  decltype(&nautilus_model_create) model_create;
  decltype(&nautilus_model_destroy) model_destroy;
  decltype(&nautilus_model_describe) model_describe;
  decltype(&nautilus_input) input;
  decltype(&nautilus_output) output;
  decltype(&nautilus_context_create) context_create;
  decltype(&nautilus_context_destroy) context_destroy;
  decltype(&nautilus_run_host) run_host;
  decltype(&nautilus_last_error) last_error;

 private:
  template <class Function>
  void find(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(handle_.get(), name));
    require(function != nullptr, name);
  }

  std::unique_ptr<void, int (*)(void *)> handle_;
};

class Model {
 public:
  Model(const Library &library, float offset) : library_(library), offset_(offset) {
    library.check(library.model_create(nullptr, &handle_));
  }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model() { library_.model_destroy(handle_); }

  const Library &library() const { return library_; }
  nautilus_model *handle() const { return handle_; }
  float offset() const { return offset_; }

 private:
  const Library &library_;
  float offset_;
  nautilus_model *handle_ = nullptr;
};

class Context {
 public:
  explicit Context(const Model &model) : model_(model) {
    const Library &library = model.library();
    nautilus_model_info info{};
    info.struct_bytes = sizeof info;
    library.check(library.model_describe(model.handle(), &info));
    library.check(library.context_create(model.handle(), nullptr, &handle_));
    for (std::size_t i = 0; i < info.input_count + info.output_count; i++) {
      nautilus_tensor tensor{};
      tensor.struct_bytes = sizeof tensor;
      bool is_input = i < info.input_count;
      library.check(is_input ? library.input(model.handle(), i, &tensor) : library.output(model.handle(), i - info.input_count, &tensor));
      tensors_.emplace_back(tensor.bytes);
      (is_input ? inputs_ : outputs_).push_back(tensors_.back().data());
    }
  }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  ~Context() { model_.library().context_destroy(handle_); }

  /* Runs with x = SEED and y = 0; whether the sum is right. */
  bool run(float seed) {
    auto *x = reinterpret_cast<float *>(inputs_[0]), *y = reinterpret_cast<float *>(inputs_[1]);
    for (int i = 0; i < 6; i++)
      x[i] = seed, y[i] = 0;
    model_.library().check(model_.library().run_host(handle_, inputs_.data(), outputs_.data()));
    const auto *sum = reinterpret_cast<const float *>(outputs_[0]);
    for (int i = 0; i < 6; i++)
      if (sum[i] != seed + model_.offset() + static_cast<float>(i))
        return false;
    return true;
  }

 private:
  const Model &model_;
  nautilus_context *handle_ = nullptr;
  std::vector<std::vector<char>> tensors_;
  std::vector<void *> inputs_, outputs_;
};

void alternate(Context &first, Context &second, int times) {
  for (int i = 0; i < times; i++) {
    require(first.run(static_cast<float>(i)), "the first library computes something else");
    require(second.run(static_cast<float>(2 * i)), "the second library computes something else");
  }
}

void in_threads(const Model &first, const Model &second) {
  std::vector<std::thread> threads;
  std::vector<std::string> failures(4);
  for (std::string &failure : failures)
    threads.emplace_back([&] {
      try {
        Context mine(first), other(second);
        alternate(mine, other, 20);
      } catch (const std::exception &error) {
        failure = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &failure : failures)
    require(failure.empty(), failure);
}

void errors_are_apart(const Library &first, const Library &second) {
  require(first.model_create(nullptr, nullptr) == NAUTILUS_INVALID_ARGUMENT, "no error");
  std::string before = first.last_error();
  require(second.output(nullptr, 0, nullptr) == NAUTILUS_INVALID_ARGUMENT, "no error");
  require(before == first.last_error() && before != second.last_error(), "an error of one library is told by the other");
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 6)
    return EXIT_FAILURE;
  const float offsets[] = {std::strtof(arguments[2], nullptr), std::strtof(arguments[4], nullptr)};
  const int repeats = std::atoi(arguments[5]);
  try {
    /* The names of the first are visible to all: the second must use its own all the same. */
    auto global = std::make_unique<Library>(arguments[1], RTLD_GLOBAL);
    Library local(arguments[3], RTLD_LOCAL);
    Model second(local, offsets[1]);
    Context kept(second);
    {
      Model first(*global, offsets[0]);
      Context context(first);
      alternate(context, kept, 10);
      in_threads(first, second);
    }
    errors_are_apart(*global, local);
    global.reset();
    require(kept.run(3), "the second library fails once the first is closed");

    std::ptrdiff_t files = 0;
    for (int i = 0; i < repeats; i++) { /* opened and closed beside the one that stays */
      Library library(arguments[1], RTLD_LOCAL);
      Model model(library, offsets[0]);
      Context context(model);
      alternate(context, kept, 1);
      if (i == 0)
        files = open_files();
      require(files == open_files(), "files stay open");
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
