// TEMPORARY: a stand-in until the real emulation lies here. Do not build on anything but what
// kernels/platform.cuh names.
#pragma once
#pragma GCC system_header
#include <cstdint>
#include <cstring>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define __launch_bounds__(...)
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {} };
struct uint3 { unsigned x, y, z; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
// ------------------------------------------------------------------------------------------------ emulation
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <tuple>
#include <vector>
#if defined(CUEMU_UCONTEXT) || !defined(__x86_64__)
#include <ucontext.h>
#define CUEMU_USE_UCONTEXT 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CUEMU_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define CUEMU_TSAN 1
extern "C" { void AnnotateIgnoreReadsBegin(const char*, int); void AnnotateIgnoreReadsEnd(const char*, int); void AnnotateIgnoreWritesBegin(const char*, int); void AnnotateIgnoreWritesEnd(const char*, int); }
#endif

namespace cuemu {
struct Error : std::runtime_error { using std::runtime_error::runtime_error; };

enum class Op : int { None, SyncThreads, SyncWarp, Shfl, ShflXor, ShflDown, ShflUp, Ballot, Any, All, Mma };
inline const char* op_name(Op o) {
  static const char* n[] = {"none", "__syncthreads", "__syncwarp", "__shfl_sync", "__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync", "__ballot_sync", "__any_sync", "__all_sync", "mma"};
  return n[int(o)];
}
struct Copy { void* dst; const void* src; int n, fill; unsigned group; };
struct Scheduler;
struct Fiber {
#ifdef CUEMU_USE_UCONTEXT
  ucontext_t uc;
#else
  void* sp = nullptr;
#endif
  char* stack = nullptr;
  uint3 tid{0, 0, 0};
  int linear = 0, lane = 0, warp = 0;
  bool done = true, fenced = false;
  uint64_t result = 0;
  Op wait = Op::None;
  const char* file = nullptr;
  int line = 0;
  uint32_t mask = 0;
  std::vector<Copy> copies;               // pending cp.async copies, oldest first; group = number of commits before it
  unsigned committed = 0, waited = 0;     // cp.async groups committed, groups known complete
#ifdef CUEMU_ASAN
  void* fake = nullptr;
#endif
#ifdef CUEMU_TSAN
  void* ts = nullptr;
#endif
};
struct Slot { Op op; uint32_t mask, arrived; const char* file; int line, width; uint64_t val[32]; int arg[32]; };

struct Stats { std::atomic<uint64_t> blocks{0}, threads{0}, switches{0}, collectives{0}, barriers{0}; };
inline Stats& stats() { static Stats s; return s; }

// the emulator's own bookkeeping is invisible to the race detector
struct Quiet {
#ifdef CUEMU_TSAN
  Quiet() { AnnotateIgnoreReadsBegin("cuemu", 0); AnnotateIgnoreWritesBegin("cuemu", 0); }
  ~Quiet() { AnnotateIgnoreWritesEnd("cuemu", 0); AnnotateIgnoreReadsEnd("cuemu", 0); }
#else
  Quiet() {}
  ~Quiet() {}
#endif
};
inline thread_local Fiber* g_cur = nullptr;
inline thread_local Scheduler* g_sched = nullptr;

#ifndef CUEMU_USE_UCONTEXT
// save callee-saved registers on this stack, store sp, load the other sp, restore, return there
extern "C" void cuemu_switch(void** save_sp, void* load_sp);
__asm__(R"(
.text
.weak cuemu_switch
.type cuemu_switch,@function
cuemu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuemu_switch,.-cuemu_switch
)");
#endif
constexpr size_t kStack = 256 * 1024;
constexpr int kDynSmemMax = 232 * 1024;

struct Scheduler {
  dim3 grid, block;
  uint3 bid{0, 0, 0};
  size_t dyn_bytes = 0;
  std::function<void()> body;
  std::vector<Fiber> f;
  std::vector<int> ready;  // ring or bag of runnable fibers
  size_t head = 0;
  int n = 0, live = 0, at_barrier = 0;
  Op bar_op = Op::None;
  const char* bar_file = nullptr;
  int bar_line = 0, bar_count = 0;
  bool bar_and = true, bar_or = false;
  char bar_hb = 0, done_hb = 0, start_hb = 0;
  struct WarpSlots { int n = 0; Slot s[8]; };
  std::vector<WarpSlots> slots;  // per warp, in flight
  Fiber main;
  std::string error;
  std::mt19937 rng;
  bool shuffle = false, fresh_fibers = false;  // fresh: a new race-detector identity per block (finds races between blocks; slow)
  int cp_mode = 2;  // 0 eager, 1 lazy, 2 random per copy
  unsigned char* smem = nullptr;  // dynamic shared memory
  struct Static { const void* key; size_t off; };
  std::vector<Static> statics;
  unsigned char* static_arena = nullptr;
  size_t static_top = 0;
  uint64_t n_switch = 0, n_coll = 0, n_bar = 0;
  static constexpr size_t kStaticArena = 256 * 1024;

  Scheduler() { new_arenas(); }
  void new_arenas() {
    free(smem); free(static_arena);
    smem = static_cast<unsigned char*>(aligned_alloc(1024, kDynSmemMax + 4096));
    static_arena = static_cast<unsigned char*>(aligned_alloc(1024, kStaticArena));
  }
  ~Scheduler() {
    for (auto& x : f) if (x.stack) munmap(x.stack, kStack);
#ifdef CUEMU_TSAN
    for (auto& x : f) if (x.ts) __tsan_destroy_fiber(x.ts);
#endif
#ifdef CUEMU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(smem, kDynSmemMax + 4096);
    ASAN_UNPOISON_MEMORY_REGION(static_arena, kStaticArena);
#endif
    free(smem); free(static_arena);
  }
  static void entry() {
    Scheduler* s = g_sched;
#ifdef CUEMU_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
#ifdef CUEMU_TSAN
    __tsan_acquire(&s->start_hb);
#endif
    s->body();
    s->exit_fiber();
  }
  void prep(Fiber& x) {
    if (!x.stack) {
      x.stack = static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      if (x.stack == MAP_FAILED) { perror("mmap"); abort(); }
    }
#ifdef CUEMU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(x.stack, kStack);
    x.fake = nullptr;
#endif
#ifdef CUEMU_USE_UCONTEXT
    getcontext(&x.uc); x.uc.uc_stack.ss_sp = x.stack; x.uc.uc_stack.ss_size = kStack; x.uc.uc_link = nullptr;
    makecontext(&x.uc, &Scheduler::entry, 0);
#else
    // colour the stacks: tops at one alignment would all fall into the same cache sets
    void** top = reinterpret_cast<void**>(x.stack + kStack - size_t(x.linear % 61) * 448);
    *--top = nullptr;                              // fake return address of entry: keeps rsp % 16 == 8 there
    *--top = reinterpret_cast<void*>(&Scheduler::entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;  // callee-saved registers
    x.sp = top;
#endif
#ifdef CUEMU_TSAN
    if (!x.ts) x.ts = __tsan_create_fiber(0);
#endif
    x.done = false; x.fenced = false; x.wait = Op::None; x.copies.clear(); x.committed = x.waited = 0;
  }
  __attribute__((no_sanitize("thread"))) void go(Fiber& from, Fiber& to, bool dying = false) {
    ++n_switch;
    g_cur = &to;
#ifdef CUEMU_TSAN
    __tsan_switch_to_fiber(to.ts, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef CUEMU_ASAN
    const void* b = &to == &main ? main_bottom : to.stack;
    size_t sz = &to == &main ? main_size : kStack;
    __sanitizer_start_switch_fiber(dying ? nullptr : &from.fake, b, sz);
#endif
#ifdef CUEMU_USE_UCONTEXT
    swapcontext(&from.uc, &to.uc);
#else
    cuemu_switch(&from.sp, to.sp);
#endif
#ifdef CUEMU_ASAN
    __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
    (void)dying;
  }
#ifdef CUEMU_ASAN
  const void* main_bottom = nullptr; size_t main_size = 0;
#endif
  void push(int i) { ready.push_back(i); }
  Fiber& pick() {
    if (head >= ready.size()) {  // nobody can run
      if (live) deadlock();
      return main;
    }
    if (shuffle) {
      size_t j = head + rng() % (ready.size() - head);
      std::swap(ready[head], ready[j]);
    }
    int i = ready[head++];
    if (head > 4096 && head * 2 > ready.size()) { ready.erase(ready.begin(), ready.begin() + head); head = 0; }
    return f[i];
  }
  void block_here() { Fiber& me = *g_cur; Fiber& to = pick(); if (&to != &me) go(me, to); }
  [[noreturn]] void fail(const std::string& m) {
    char b[200]; Fiber& c = *g_cur;
    snprintf(b, sizeof b, " [block %u,%u,%u thread %u,%u,%u]", bid.x, bid.y, bid.z, c.tid.x, c.tid.y, c.tid.z);
    if (error.empty()) error = m + b;
    go(c, main, true);
    abort();
  }
  void deadlock() {
    std::string m = "deadlock: ";
    int shown = 0;
    for (int i = 0; i < n && shown < 4; ++i) if (!f[i].done && f[i].wait != Op::None) {
      char b[160]; snprintf(b, sizeof b, "thread %d waits in %s at %s:%d; ", i, op_name(f[i].wait), f[i].file, f[i].line); m += b; ++shown;
    }
    if (error.empty()) error = m;
    go(*g_cur, main, true);
  }
  void exit_fiber() {
    for (auto& c : g_cur->copies) do_copy(c);
    Fiber* to;
    Fiber& me = *g_cur;
    {
    Quiet quiet;
    me.done = true; me.wait = Op::None; --live;
#ifdef CUEMU_TSAN
    __tsan_release(&done_hb);
#endif
    if (at_barrier) fail(std::string("a thread exits while others wait at __syncthreads ") + bar_file + ":" + std::to_string(bar_line));
    for (int k = 0; k < slots[me.warp].n; ++k) if (const Slot& s = slots[me.warp].s[k]; s.mask >> me.lane & 1) fail(std::string("a lane exits while its mask waits in ") + op_name(s.op));
    to = &pick();
    }
    go(me, *to, true);
    abort();
  }
  // ---- block barrier
  int barrier(int pred, const char* file, int line) {
    Quiet quiet;
    Fiber& me = *g_cur; ++n_bar;
    if (!at_barrier) { bar_file = file; bar_line = line; bar_count = 0; }
    else if (bar_line != line || (bar_file != file && strcmp(bar_file, file))) fail(std::string("divergent __syncthreads: ") + file + ":" + std::to_string(line) + " meets " + bar_file + ":" + std::to_string(bar_line));
#ifdef CUEMU_TSAN
    __tsan_release(&bar_hb);
#endif
    bar_count += pred != 0;
    if (++at_barrier == n) {
      at_barrier = 0;
      for (int i = 0; i < n; ++i) { f[i].result = uint64_t(bar_count); if (i != me.linear) { f[i].wait = Op::None; push(i); } }
      if (shuffle) { push(me.linear); block_here(); }
    } else { me.wait = Op::SyncThreads; me.file = file; me.line = line; block_here(); }
#ifdef CUEMU_TSAN
    __tsan_acquire(&bar_hb);
#endif
    return int(g_cur->result);
  }
  // ---- warp collectives: every lane of mask arrives, the last one computes all results
  uint64_t collective(Op op, uint32_t mask, uint64_t v, int arg, int width, const char* file, int line) {
    Quiet quiet;
    Fiber& me = *g_cur; ++n_coll;
    auto& ws = slots[me.warp];
    if (!(mask >> me.lane & 1)) fail(std::string(op_name(op)) + ": the calling lane is not in the mask, " + file + ":" + std::to_string(line));
    Slot* s = nullptr;
    for (int k = 0; k < ws.n; ++k) if (Slot& x = ws.s[k]; x.mask & mask) {
      if (x.mask != mask || x.op != op || x.line != line || (x.file != file && strcmp(x.file, file)) || x.width != width)
        fail(std::string("divergent warp collective: ") + op_name(op) + " " + file + ":" + std::to_string(line) + " meets " + op_name(x.op) + " " + x.file + ":" + std::to_string(x.line));
      s = &x;
    }
    if (!s) { if (ws.n == 8) fail("too many warp collectives in flight"); s = &ws.s[ws.n++]; s->op = op; s->mask = mask; s->arrived = 0; s->file = file; s->line = line; s->width = width; }
    s->val[me.lane] = v; s->arg[me.lane] = arg; s->arrived |= 1u << me.lane;
#ifdef CUEMU_TSAN
    if (op == Op::SyncWarp) __tsan_release(&warp_hb[me.warp]);
#endif
    if (s->arrived == mask) {
      const int base = me.warp * 32;
      if (op == Op::Mma) { if (mask != 0xffffffffu) fail("mma with a partial warp"); reinterpret_cast<void (*)(const uint64_t*)>(mma_fn)(s->val); }
      uint64_t ballot = 0;
      for (int l = 0; l < 32; ++l) if ((mask >> l & 1) && s->val[l]) ballot |= 1ull << l;
      for (int l = 0; l < 32; ++l) if (mask >> l & 1) {
        uint64_t r = 0; int src = l; bool in = true; const int w = width, lo = l & ~(w - 1);
        switch (op) {
          case Op::Shfl: src = lo + (s->arg[l] & (w - 1)); break;
          case Op::ShflXor: src = l ^ s->arg[l]; in = src < lo + w; break;
          case Op::ShflDown: src = l + s->arg[l]; in = src < lo + w; break;
          case Op::ShflUp: src = l - s->arg[l]; in = src >= lo; break;
          default: break;
        }
        if (op == Op::Ballot) r = ballot; else if (op == Op::Any) r = ballot != 0; else if (op == Op::All) r = ballot == mask;
        else { if (!in) src = l; if (op != Op::SyncWarp && op != Op::Mma && !(mask >> src & 1)) fail(std::string(op_name(op)) + " reads lane " + std::to_string(src) + ", which is not in the mask, " + file + ":" + std::to_string(line)); r = s->val[src]; }
        f[base + l].result = r;
        if (l != me.lane) { f[base + l].wait = Op::None; push(base + l); }
      }
      *s = ws.s[--ws.n];
      if (shuffle) { push(me.linear); block_here(); }
    } else { me.wait = op; me.file = file; me.line = line; me.mask = mask; block_here(); }
#ifdef CUEMU_TSAN
    if (op == Op::SyncWarp) __tsan_acquire(&warp_hb[g_cur->warp]);
#endif
    return g_cur->result;
  }
  char warp_hb[64] = {};
  void* mma_fn = nullptr;
  // ---- cp.async
  static void do_copy(const Copy& c) { memcpy(c.dst, c.src, size_t(c.n)); if (c.fill > c.n) memset(static_cast<char*>(c.dst) + c.n, 0, size_t(c.fill - c.n)); }
  void cp_async(void* dst, const void* src, int n_, int total) {
    if (reinterpret_cast<uintptr_t>(dst) % total || (n_ && reinterpret_cast<uintptr_t>(src) % total)) fail("misaligned cp.async");
    Copy c; bool lazy;
    { Quiet quiet; lazy = cp_mode == 1 || (cp_mode == 2 && (rng() & 1)); c = {dst, src, n_, total, g_cur->committed}; if (lazy) g_cur->copies.push_back(c); }
    if (lazy) memset(dst, 0xFF, size_t(total)); else do_copy(c);
  }
  void cp_commit() { Quiet quiet; ++g_cur->committed; }
  void cp_wait(int keep) {
    Fiber& me = *g_cur;
    if (me.committed <= me.waited + unsigned(keep)) return;
    { Quiet quiet; me.waited = me.committed - unsigned(keep); }
    size_t k = 0;
    while (k < me.copies.size() && me.copies[k].group < me.waited) do_copy(me.copies[k++]);
    Quiet quiet;
    me.copies.erase(me.copies.begin(), me.copies.begin() + long(k));
  }
  // ---- shared memory: one arena per block; each static array gets its own red zone
  void* shared(const void* key, size_t bytes, size_t align) {
    Quiet quiet;
    for (auto& s : statics) if (s.key == key) return static_arena + s.off;
    align = std::max<size_t>(align, 16);
    size_t off = (static_top + 64 + align - 1) / align * align;
    if (off + bytes + 64 > kStaticArena) fail("static shared memory arena is full");
    statics.push_back({key, off}); static_top = off + bytes;
#ifdef CUEMU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(static_arena + off, bytes);
#endif
    memset(static_arena + off, 0xFF, bytes);
    return static_arena + off;
  }
  void run_block(uint3 b) {
    Quiet quiet;
    bid = b; n = int(block.x * block.y * block.z); live = n; at_barrier = 0;
    if (int(f.size()) < n) f.resize(size_t(n));
    slots.resize(size_t(n + 31) / 32);
    for (auto& w : slots) w.n = 0;
    statics.clear(); static_top = 0;
#ifdef CUEMU_ASAN
    ASAN_POISON_MEMORY_REGION(static_arena, kStaticArena);
    ASAN_UNPOISON_MEMORY_REGION(smem, dyn_bytes);
    ASAN_POISON_MEMORY_REGION(smem + (dyn_bytes + 7) / 8 * 8, kDynSmemMax + 4096 - (dyn_bytes + 7) / 8 * 8);
    { pthread_attr_t a; pthread_getattr_np(pthread_self(), &a); void* p; pthread_attr_getstack(&a, &p, &main_size); main_bottom = p; pthread_attr_destroy(&a); }
#endif
#ifdef CUEMU_TSAN
    if (fresh_fibers) new_arenas();
#endif
    memset(smem, 0xFF, dyn_bytes);
#ifdef CUEMU_TSAN
    main.ts = __tsan_get_current_fiber();
    __tsan_release(&start_hb);
#endif
    ready.clear(); head = 0;
    int i = 0;
    for (unsigned z = 0; z < block.z; ++z) for (unsigned y = 0; y < block.y; ++y) for (unsigned x = 0; x < block.x; ++x, ++i) {
      Fiber& q = f[size_t(i)]; q.tid = {x, y, z}; q.linear = i; q.lane = i & 31; q.warp = i >> 5; prep(q); push(i);
    }
    Scheduler* outer = g_sched; Fiber* outer_cur = g_cur; g_sched = this; g_cur = &main;
    go(main, pick());
    g_sched = outer; g_cur = outer_cur;
#ifdef CUEMU_TSAN
    if (!fresh_fibers) __tsan_acquire(&done_hb);
    if (fresh_fibers) for (int k = 0; k < n; ++k) { __tsan_destroy_fiber(f[size_t(k)].ts); f[size_t(k)].ts = nullptr; }
#endif
    if (!error.empty()) throw Error(error);
  }
};

inline uint64_t env_u64(const char* n, uint64_t d) { const char* s = getenv(n); return s ? strtoull(s, nullptr, 0) : d; }
struct Config { uint64_t seed = env_u64("CUEMU_SEED", 0); int workers = int(env_u64("CUEMU_WORKERS", 1)); int cp_mode = int(env_u64("CUEMU_CP", 2)); bool fresh = env_u64("CUEMU_FRESH", 0) != 0; };
inline Config& config() { static Config c; return c; }

// schedulers own the fibers' stacks: keep them between launches
struct Pool { std::mutex m; std::vector<std::unique_ptr<Scheduler>> v; };
inline Pool& pool() { static Pool p; return p; }
inline std::unique_ptr<Scheduler> take_scheduler() { Pool& p = pool(); std::lock_guard<std::mutex> g(p.m); if (p.v.empty()) return std::make_unique<Scheduler>(); auto s = std::move(p.v.back()); p.v.pop_back(); return s; }
inline void give_scheduler(std::unique_ptr<Scheduler> s) { Pool& p = pool(); std::lock_guard<std::mutex> g(p.m); p.v.push_back(std::move(s)); }

template <typename F> void launch_body(dim3 grid, dim3 block, size_t smem, F&& body) {
  const Config cfg = config();
  if (smem > size_t(kDynSmemMax)) throw Error("dynamic shared memory over the limit");
  const unsigned nt = block.x * block.y * block.z;
  if (nt > 1024 || nt == 0) throw Error("bad block size");
  const size_t nb = size_t(grid.x) * grid.y * grid.z;
  std::vector<size_t> order(nb);
  for (size_t i = 0; i < nb; ++i) order[i] = i;
  std::mt19937 rng(uint32_t(cfg.seed * 2654435761u + 12345));
  if (cfg.seed) std::shuffle(order.begin(), order.end(), rng);
  std::atomic<size_t> next{0};
  std::string err; std::atomic<bool> bad{false};
  auto work = [&](int w) {
    std::unique_ptr<Scheduler> s = take_scheduler();
    s->grid = grid; s->block = block; s->dyn_bytes = smem; s->body = body; s->error.clear(); s->shuffle = cfg.seed != 0; s->cp_mode = cfg.cp_mode; s->fresh_fibers = cfg.fresh;
    s->rng.seed(uint32_t(cfg.seed * 40503u + unsigned(w)));
    for (size_t i; !bad && (i = next++) < nb;) {
      size_t b = order[i];
      try { s->run_block({unsigned(b % grid.x), unsigned(b / grid.x % grid.y), unsigned(b / grid.x / grid.y)}); }
      catch (const Error& e) { if (!bad.exchange(true)) err = e.what(); return; }
    }
#ifdef CUEMU_TSAN
    __tsan_acquire(&s->done_hb);
#endif
    stats().switches += s->n_switch; stats().collectives += s->n_coll; stats().barriers += s->n_bar; s->n_switch = s->n_coll = s->n_bar = 0;
    give_scheduler(std::move(s));
  };
  if (cfg.workers <= 1) work(0);
  else { std::vector<std::thread> t; for (int w = 0; w < cfg.workers; ++w) t.emplace_back(work, w); for (auto& x : t) x.join(); }
  stats().blocks += nb; stats().threads += nb * block.x * block.y * block.z;
  if (bad) throw Error(err);
}
}  // namespace cuemu

#define threadIdx (::cuemu::g_cur->tid)
#define blockIdx (::cuemu::g_sched->bid)
#define blockDim (::cuemu::g_sched->block)
#define gridDim (::cuemu::g_sched->grid)
#define warpSize 32
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ cuemu_use_CK_SHARED_instead
#define OCTAVO_DYNAMIC_SHARED(name) unsigned char* const name = ::cuemu::g_sched->smem
#define CUEMU_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void cuemu_syncthreads(const char* f, int l) { cuemu::g_sched->barrier(0, f, l); }
inline int cuemu_syncthreads_count(int p, const char* f, int l) { return cuemu::g_sched->barrier(p, f, l); }
#define __syncthreads() cuemu_syncthreads(__FILE__, __LINE__)
#define __syncthreads_count(p) cuemu_syncthreads_count(p, __FILE__, __LINE__)
inline void __syncwarp(unsigned mask = 0xffffffffu, CUEMU_SITE) { cuemu::g_sched->collective(cuemu::Op::SyncWarp, mask, 0, 0, 32, file, line); }
namespace cuemu {
template <typename T> inline T shfl(Op op, unsigned mask, T v, int a, int w, const char* file, int line) {
  static_assert(sizeof(T) <= 8); uint64_t u = 0; memcpy(&u, &v, sizeof(T)); u = g_sched->collective(op, mask, u, a, w, file, line); memcpy(&v, &u, sizeof(T)); return v;
}
}
template <typename T> inline T __shfl_sync(unsigned m, T v, int a, int w = 32, CUEMU_SITE) { return cuemu::shfl(cuemu::Op::Shfl, m, v, a, w, file, line); }
template <typename T> inline T __shfl_xor_sync(unsigned m, T v, int a, int w = 32, CUEMU_SITE) { return cuemu::shfl(cuemu::Op::ShflXor, m, v, a, w, file, line); }
template <typename T> inline T __shfl_down_sync(unsigned m, T v, int a, int w = 32, CUEMU_SITE) { return cuemu::shfl(cuemu::Op::ShflDown, m, v, a, w, file, line); }
template <typename T> inline T __shfl_up_sync(unsigned m, T v, int a, int w = 32, CUEMU_SITE) { return cuemu::shfl(cuemu::Op::ShflUp, m, v, a, w, file, line); }
inline unsigned __ballot_sync(unsigned m, int p, CUEMU_SITE) { return unsigned(cuemu::g_sched->collective(cuemu::Op::Ballot, m, p != 0, 0, 32, file, line)); }
inline int __any_sync(unsigned m, int p, CUEMU_SITE) { return int(cuemu::g_sched->collective(cuemu::Op::Any, m, p != 0, 0, 32, file, line)); }
inline int __all_sync(unsigned m, int p, CUEMU_SITE) { return int(cuemu::g_sched->collective(cuemu::Op::All, m, p != 0, 0, 32, file, line)); }

// IEEE operations that CUDA never contracts. Build with -ffp-contract=off; -mfma makes fmaf one instruction.
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline uint32_t __float_as_uint(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
inline float __uint_as_float(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
inline int __float_as_int(float x) { int u; memcpy(&u, &x, 4); return u; }
inline float __int_as_float(int u) { float x; memcpy(&x, &u, 4); return x; }
inline int __float2int_rn(float x) { return x != x ? 0 : x >= 2147483648.f ? INT32_MAX : x < -2147483648.f ? INT32_MIN : int(__builtin_rintf(x)); }
template <typename T> inline T __ldg(const T* p) { return *p; }
template <typename T> inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> inline T max(T a, T b) { return a < b ? b : a; }
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t s) { uint64_t v = uint64_t(b) << 32 | a; uint32_t r = 0; for (int i = 0; i < 4; ++i) { uint32_t k = s >> (4 * i) & 15; uint32_t by = uint32_t(v >> (8 * (k & 7))) & 255; if (k & 8) by = by & 128 ? 255 : 0; r |= by << (8 * i); } return r; }
inline int __dp4a(int a, int b, int c) { for (int i = 0; i < 4; ++i) c += int(int8_t(a >> (8 * i))) * int(int8_t(b >> (8 * i))); return c; }
inline void __threadfence() { cuemu::Quiet quiet; cuemu::g_cur->fenced = true; }
inline void __threadfence_block() { __threadfence(); }
// an atomic orders memory only for a thread that fenced first: -fsanitize=thread then sees a forgotten __threadfence
template <typename T> inline T cuemu_fetch_add(T* p, T v) { return cuemu::g_cur->fenced ? __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL) : __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
inline int atomicAdd(int* p, int v) { return cuemu_fetch_add(p, v); }
inline unsigned atomicAdd(unsigned* p, unsigned v) { return cuemu_fetch_add(p, v); }
inline unsigned long long atomicAdd(unsigned long long* p, unsigned long long v) { return cuemu_fetch_add(p, v); }
inline float atomicAdd(float* p, float v) { uint32_t o = __atomic_load_n(reinterpret_cast<uint32_t*>(p), __ATOMIC_RELAXED); for (;;) { float x; memcpy(&x, &o, 4); float y = x + v; uint32_t w; memcpy(&w, &y, 4); if (__atomic_compare_exchange_n(reinterpret_cast<uint32_t*>(p), &o, w, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return x; } }
inline int atomicMax(int* p, int v) { int o = __atomic_load_n(p, __ATOMIC_RELAXED); while (o < v && !__atomic_compare_exchange_n(p, &o, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {} return o; }
inline unsigned atomicCAS(unsigned* p, unsigned c, unsigned v) { __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); return c; }


#define OCTAVO_SHARED(T, name) static const char name##_key_ = 0; T& name = *static_cast<T*>(::cuemu::g_sched->shared(&name##_key_, sizeof(T), alignof(T)))
#define OCTAVO_SHARED_ARRAY(T, name, n) static const char name##_key_ = 0; T(&name)[n] = *static_cast<T(*)[n]>(::cuemu::g_sched->shared(&name##_key_, sizeof(T) * (n), alignof(T)))
namespace octavo::cuda { inline namespace emulated {
struct Stream { void* handle = nullptr; };
struct LaunchShape { dim3 grid, block; std::size_t shared_bytes = 0; };
struct MmaRegs { int* c; float* f; uint32_t a[4], b[2]; };
template <bool SA> inline void mma_16832_warp(const uint64_t* v) {
  int A[16][32], B[32][8];
  for (int l = 0; l < 32; ++l) {
    const MmaRegs& r = *reinterpret_cast<const MmaRegs*>(v[l]); const int g = l >> 2, t = l & 3;
    for (int i = 0; i < 4; ++i) {
      for (int x = 0; x < 4; ++x) { const uint8_t u = uint8_t(r.a[x] >> (8 * i)); A[g + 8 * (x & 1)][t * 4 + i + 16 * (x >> 1)] = SA ? int(int8_t(u)) : int(u); }
      for (int x = 0; x < 2; ++x) B[t * 4 + i + 16 * x][g] = int8_t(r.b[x] >> (8 * i));
    }
  }
  for (int l = 0; l < 32; ++l) {
    const MmaRegs& r = *reinterpret_cast<const MmaRegs*>(v[l]); const int g = l >> 2, t = l & 3;
    for (int x = 0; x < 4; ++x) { int s = r.c[x]; for (int k = 0; k < 32; ++k) s += A[g + 8 * (x >> 1)][k] * B[k][t * 2 + (x & 1)]; r.c[x] = s; }
  }
}
// m16n8k16, 16-bit A and B, float accumulators; here simply in double (tolerance only)
template <bool BF> inline void mma_16816_warp(const uint64_t* v) {
  double A[16][16], B[16][8];
  auto dec = [](uint16_t h) -> double { if constexpr (BF) { uint32_t u = uint32_t(h) << 16; float f; memcpy(&f, &u, 4); return f; } else { const int e = h >> 10 & 31, m = h & 1023; const double x = e == 31 ? (m ? __builtin_nan("") : __builtin_inf()) : e ? std::ldexp(1024.0 + m, e - 25) : std::ldexp(double(m), -24); return h >> 15 ? -x : x; } };
  for (int l = 0; l < 32; ++l) {
    const MmaRegs& r = *reinterpret_cast<const MmaRegs*>(v[l]); const int g = l >> 2, t = l & 3;
    for (int i = 0; i < 2; ++i) {
      for (int x = 0; x < 4; ++x) A[g + 8 * (x & 1)][t * 2 + i + 8 * (x >> 1)] = dec(uint16_t(r.a[x] >> (16 * i)));
      for (int x = 0; x < 2; ++x) B[t * 2 + i + 8 * x][g] = dec(uint16_t(r.b[x] >> (16 * i)));
    }
  }
  for (int l = 0; l < 32; ++l) {
    const MmaRegs& r = *reinterpret_cast<const MmaRegs*>(v[l]); const int g = l >> 2, t = l & 3;
    for (int x = 0; x < 4; ++x) { double s = r.f[x]; for (int k = 0; k < 16; ++k) s += A[g + 8 * (x >> 1)][k] * B[k][t * 2 + (x & 1)]; r.f[x] = float(s); }
  }
}
inline void mma_collective(MmaRegs& r, void (*fn)(const uint64_t*), const char* file, int line) {
  { cuemu::Quiet quiet; cuemu::g_sched->mma_fn = reinterpret_cast<void*>(fn); }
  cuemu::g_sched->collective(cuemu::Op::Mma, 0xffffffffu, reinterpret_cast<uint64_t>(&r), 0, 32, file, line);
}
inline void mma_s8_s8(int (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, CUEMU_SITE) { MmaRegs r{c, nullptr, {a[0], a[1], a[2], a[3]}, {b0, b1}}; mma_collective(r, &mma_16832_warp<true>, file, line); }
inline void mma_u8_s8(int (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, CUEMU_SITE) { MmaRegs r{c, nullptr, {a[0], a[1], a[2], a[3]}, {b0, b1}}; mma_collective(r, &mma_16832_warp<false>, file, line); }
inline void mma_bf16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, CUEMU_SITE) { MmaRegs r{nullptr, c, {a[0], a[1], a[2], a[3]}, {b0, b1}}; mma_collective(r, &mma_16816_warp<true>, file, line); }
inline void mma_f16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, CUEMU_SITE) { MmaRegs r{nullptr, c, {a[0], a[1], a[2], a[3]}, {b0, b1}}; mma_collective(r, &mma_16816_warp<false>, file, line); }
template <int BYTES> inline void async_copy(void* s, const void* g, bool pred) { cuemu::g_sched->cp_async(s, g, pred ? BYTES : 0, BYTES); }
inline void async_copy_commit() { cuemu::g_sched->cp_commit(); }
template <int N> inline void async_copy_wait() { cuemu::g_sched->cp_wait(N); }
template <typename... P, typename... A>
inline void launch(void (*k)(P...), const LaunchShape& s, Stream, A&&... a) {
  std::tuple<P...> t(static_cast<P>(a)...);
  cuemu::launch_body(s.grid, s.block, s.shared_bytes, [k, t]() { std::apply(k, t); });
}
} }  // namespace octavo::cuda::emulated
