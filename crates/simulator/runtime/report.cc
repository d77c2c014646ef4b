// Findings, the source lines of their addresses, and the trace of one block.
#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "check.h"

// Made by the build: the directory that source lines are told from, ending in a slash.
extern "C" const char* const ck_sim_source_root;

namespace ck_sim {

namespace {

struct Finding {
  std::string code;
  const void* kernel;
  std::string message;
  std::vector<Where> places;
  uint64_t times;
  bool only_if_lines_differ;
};

std::vector<Finding> findings;
uint64_t left_out = 0;
std::map<Pc, std::string> lines;
std::string report;

constexpr size_t kMaxFindings = 64;

// The file that this library was loaded from.
const std::string& library_path() {
  static const std::string path = [] {
    Dl_info info;
    const void* inside = reinterpret_cast<const void*>(&find_region);
    return std::string(dladdr(inside, &info) != 0 ? info.dli_fname : "");
  }();
  return path;
}

bool is_own_source(const std::string& line) { return line.find("ck_sim/") != std::string::npos; }

// addr2line's answer for one address: function and line alternate, innermost first.
std::string shorten(const std::vector<std::string>& answer) {
  std::string text;
  for (size_t i = 0; i + 1 < answer.size(); i += 2) {
    const std::string& function = answer[i];
    std::string line = answer[i + 1];
    const size_t discriminator = line.find(" (discriminator");
    if (discriminator != std::string::npos) line.resize(discriminator);
    const size_t root = std::strlen(ck_sim_source_root);
    if (line.compare(0, root, ck_sim_source_root) == 0) line.erase(0, root);
    // The simulator's own inline functions say nothing about the kernel.
    if (is_own_source(line) && i + 3 < answer.size()) continue;
    if (line.compare(0, 2, "??") == 0) continue;
    text += text.empty() ? line : ", inlined at " + line;
    if (text.find(" in ") == std::string::npos) text += " in " + function;
    // Beyond the kernel itself lies how it was called.
    if (function.find("ck_sim::") != std::string::npos) break;
  }
  return text;
}

void ask(const std::vector<Pc>& wanted) {
  if (wanted.empty() || library_path().empty()) return;
  std::string command = "addr2line -f -C -i -a -e '" + library_path() + "'";
  for (Pc pc : wanted) {
    // A return address belongs to the line after the call.
    command += format_text(" 0x%zx", pc - 1 - own_image().begin);
  }
  command += " 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return;
  std::vector<std::vector<std::string>> answers;
  char buffer[4096];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) {
    std::string line(buffer);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.compare(0, 2, "0x") == 0) {
      answers.emplace_back();
    } else if (!answers.empty()) {
      answers.back().push_back(line);
    }
  }
  pclose(pipe);
  for (size_t i = 0; i < answers.size() && i < wanted.size(); ++i) {
    lines[wanted[i]] = shorten(answers[i]);
  }
}

std::string line_of(Pc pc) {
  if (pc == 0) return "";
  auto at = lines.find(pc);
  if (at != lines.end() && !at->second.empty()) return at->second;
  return format_text("%s+0x%zx", library_path().c_str(), pc - own_image().begin);
}

std::string kernel_name(const void* kernel) {
  if (kernel == nullptr) return "";
  const std::string line = line_of(reinterpret_cast<Pc>(kernel) + 1);
  const size_t in = line.find(" in ");
  if (in == std::string::npos) return line;
  std::string name = line.substr(in + 4);
  const size_t end = name.find('(');
  if (end != std::string::npos) name.resize(end);
  return name;
}

void add(const char* code, bool only_if_lines_differ, const std::vector<Where>& places,
         std::string message) {
  for (Finding& old : findings) {
    if (old.code != code || old.places.size() != places.size()) continue;
    bool equal = true;
    for (size_t i = 0; i < places.size(); ++i) equal = equal && old.places[i].pc == places[i].pc;
    if (!equal) continue;
    ++old.times;
    return;
  }
  if (findings.size() == kMaxFindings) {
    ++left_out;
    return;
  }
  findings.push_back({code, global.launch != nullptr ? global.launch->call.kernel : nullptr,
                      std::move(message), places, 1, only_if_lines_differ});
}

std::string vformat(const char* format, va_list arguments) {
  char buffer[1024];
  vsnprintf(buffer, sizeof(buffer), format, arguments);
  return buffer;
}

}  // namespace

const OwnImage& own_image() {
  static const OwnImage image = [] {
    OwnImage own{0, 0};
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&find_region), &info) != 0) {
      own.begin = reinterpret_cast<uintptr_t>(info.dli_fbase);
    }
#if defined(__linux__)
    dl_iterate_phdr(
        [](struct dl_phdr_info* each, size_t, void* result) {
          OwnImage* image = static_cast<OwnImage*>(result);
          uintptr_t low = UINTPTR_MAX;
          uintptr_t high = 0;
          for (int i = 0; i < each->dlpi_phnum; ++i) {
            const auto& header = each->dlpi_phdr[i];
            if (header.p_type != PT_LOAD) continue;
            low = std::min<uintptr_t>(low, each->dlpi_addr + header.p_vaddr);
            high = std::max<uintptr_t>(high, each->dlpi_addr + header.p_vaddr + header.p_memsz);
          }
          if (image->begin < low || image->begin >= high) return 0;
          image->end = high;
          return 1;
        },
        &own);
#endif
    return own;
  }();
  return image;
}

bool in_own_image(uintptr_t address) {
  const OwnImage& image = own_image();
  if (image.end != 0) return address >= image.begin && address < image.end;
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(address), &info) != 0 &&
         reinterpret_cast<uintptr_t>(info.dli_fbase) == image.begin;
}

std::string format_text(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = vformat(format, arguments);
  va_end(arguments);
  return text;
}

std::string thread_text(const Thread* t) {
  return format_text("block %u thread %u", t->block->index, t->index);
}
std::string thread_text(uint32_t id) {
  const uint32_t padded = (global.launch->shape.block + kLanes - 1) / kLanes * kLanes;
  return format_text("block %u thread %u", id / padded, id % padded);
}

void finding(const char* code, bool fatal, const std::vector<Where>& places, const char* format,
             ...) {
  va_list arguments;
  va_start(arguments, format);
  add(code, false, places, vformat(format, arguments));
  va_end(arguments);
  if (!fatal) return;
  global.failed = true;
  if (on_fiber()) abandon_launch();
}

void finding_if_lines_differ(const char* code, const std::vector<Where>& places, const char* format,
                             ...) {
  va_list arguments;
  va_start(arguments, format);
  add(code, true, places, vformat(format, arguments));
  va_end(arguments);
}

const char* report_text() {
  std::vector<Pc> wanted;
  const auto want = [&](Pc pc) {
    if (pc != 0 && lines.insert({pc, ""}).second) wanted.push_back(pc);
  };
  for (const Finding& f : findings) {
    if (f.kernel != nullptr) want(reinterpret_cast<Pc>(f.kernel) + 1);
    for (const Where& place : f.places) want(place.pc);
  }
  ask(wanted);
  report.clear();
  for (const Finding& f : findings) {
    if (f.only_if_lines_differ && line_of(f.places[0].pc) == line_of(f.places[1].pc)) continue;
    report += f.code + ": ";
    if (f.kernel != nullptr) report += "kernel " + kernel_name(f.kernel) + ": ";
    report += f.message;
    if (f.times > 1) {
      report += format_text(" (%llu times)", static_cast<unsigned long long>(f.times));
    }
    report += "\n";
    for (const Where& place : f.places) {
      report += "    " + place.text;
      if (place.pc != 0) report += " at " + line_of(place.pc);
      report += "\n";
    }
  }
  if (left_out != 0) {
    report += format_text("and %llu further findings\n", static_cast<unsigned long long>(left_out));
  }
  return report.empty() ? nullptr : report.c_str();
}

void report_clear() {
  findings.clear();
  left_out = 0;
  report.clear();
}

void trace(Pc pc, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = vformat(format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s: %s", thread_text(global.current).c_str(), text.c_str());
  if (pc != 0) {
    // One run of addr2line for each place, on the fiber's own small stack: popen needs little.
    if (lines.insert({pc, ""}).second) ask({pc});
    fprintf(stderr, " at %s", line_of(pc).c_str());
  }
  fputc('\n', stderr);
}

}  // namespace ck_sim
